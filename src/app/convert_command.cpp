#include <fmt/format.h>

#include "app/commands.h"
#include "app/terminal.h"

namespace emlx {

int run_convert(const ConvertFlags&) {
  return 0;
}

}  // namespace emlx

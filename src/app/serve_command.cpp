#include <fmt/format.h>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"

namespace emlx {

int run_serve(const ServeFlags&) {
  return 0;
}

}  // namespace emlx

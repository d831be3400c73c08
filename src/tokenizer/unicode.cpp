#include "tokenizer/unicode.h"

#include <algorithm>

#include "tokenizer/unicode_tables.h"

namespace emlx {

const CharPropertyTable& char_properties() {
  static CharPropertyTable table;  // zero pages until written: most planes stay untouched
  static const bool filled = [] {
    for (const CodePointRange& range : kCharPropertyRanges)
      std::fill(table.begin() + range.first, table.begin() + range.last + 1, range.value);
    return true;
  }();
  static_cast<void>(filled);
  return table;
}

}  // namespace emlx

// Unicode Normalization Form C.
#pragma once

#include <string>
#include <string_view>

namespace emlx {

// Returns `text` (valid UTF-8) in NFC: `text` itself where nothing changes, else a view of
// `storage`, which is overwritten. Time is linear but for sorting runs of combining marks.
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace emlx

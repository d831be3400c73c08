#include "formats/foreign_file.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace emlx {

std::string foreign_file_hint(std::span<const std::byte> file) {
  std::string head(reinterpret_cast<const char*>(file.data()),
                   std::min<std::size_t>(file.size(), 64));
  if (file.empty()) return " (the file is empty)";
  if (head.starts_with("version https://git-lfs"))
    return " (a Git LFS pointer: fetch the real file with git lfs pull)";
  if (head.starts_with("GGUF")) return " (a GGUF file)";
  if (head.starts_with("PK\x03\x04")) return " (a zip archive, perhaps PyTorch weights)";
  head.erase(0, std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (head.starts_with("<!doctype") || head.starts_with("<html")) return " (an HTML page)";
  return "";
}

}  // namespace emlx

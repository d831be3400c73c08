// Bytes as a GGUF file: an error, or tensors that lie inside them and metadata that can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_vocab.h"

namespace {

// Reads a key as every kind of value; all but one are errors.
void read_all_kinds(const emlx::GgufMetadata& metadata, const char* key) {
  const auto attempt = [](auto read) {
    try {
      read();
    } catch (const emlx::Error&) {  // NOLINT(bugprone-empty-catch): another kind
    }
  };
  attempt([&] { metadata.integer(key); });
  attempt([&] { metadata.number(key); });
  attempt([&] { metadata.boolean(key); });
  attempt([&] { metadata.text(key); });
  attempt([&] { metadata.integers(key); });
  attempt([&] { metadata.numbers(key); });
  attempt([&] { metadata.texts(key); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const emlx::GgufContents contents = emlx::parse_gguf(file, "input");
    for (const emlx::TensorView& tensor : contents.tensors)
      if (tensor.data.data() < file.data() ||
          tensor.data.data() + tensor.data.size() > file.data() + file.size())
        std::abort();
    read_all_kinds(contents.metadata, "general.architecture");
    read_all_kinds(contents.metadata, "tokenizer.ggml.tokens");
    read_all_kinds(contents.metadata, "a");
    emlx::read_gguf_vocab(contents.metadata);
  } catch (const emlx::Error&) {  // NOLINT(bugprone-empty-catch): what most inputs are
  }
  return 0;
}

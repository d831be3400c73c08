// The vocabulary in a GGUF file's metadata.
#pragma once

#include <vector>

#include "base/token_id.h"
#include "base/vocab_data.h"
#include "formats/gguf_metadata.h"

namespace emlx {

// Reads tokenizer.ggml.*. Lists have one entry a token, ids lie inside the vocabulary. Throws
// Error(InvalidFile) naming the key.
VocabData read_gguf_vocab(const GgufMetadata& metadata);

// The tokens that end a text: of a document (eos) and of a turn (eot), if the file names any.
std::vector<TokenId> read_gguf_eos(const GgufMetadata& metadata, const VocabData& vocab);

}  // namespace emlx

// GGUF vocabularies as tokenizer.json.
#pragma once

#include "base/json.h"
#include "base/vocab_data.h"

namespace emlx {

// The parsed tokenizer.json equivalent to `vocab` (model "gpt2" alone). Throws Error(InvalidFile)
// or Error(Unsupported).
JsonObject tokenizer_file_from_vocab(const VocabData& vocab);

}  // namespace emlx

// How texts are cut into words: linear matchers for the split patterns of known tokenizers.
#pragma once

#include <string_view>
#include <vector>

namespace emlx {

// Appends the pieces of `text` (valid UTF-8, not empty), which cover it in order, to `pieces`; they
// are views of `text`.
using Splitter = void (*)(std::string_view text, std::vector<std::string_view>& pieces);

// Split patterns as their files write them.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The matcher for a regular expression of tokenizer.json, recognised by its exact text; null if
// there is none.
Splitter find_splitter(std::string_view pattern) noexcept;

// GPT-2's pattern, built into the ByteLevel pre-tokenizer.
void split_gpt2(std::string_view text, std::vector<std::string_view>& pieces);

// The Digits pre-tokenizer: each digit alone, or runs of digits.
void split_single_digits(std::string_view text, std::vector<std::string_view>& pieces);
void split_digit_runs(std::string_view text, std::vector<std::string_view>& pieces);

}  // namespace emlx

#include "tokenizer/nfc.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/unicode.h"
#include "tokenizer/unicode_tables.h"

namespace emlx {
namespace {

// Hangul syllables are arithmetic (Unicode standard, section 3.12).
constexpr char32_t kSyllableBase = 0xAC00, kLeadBase = 0x1100, kVowelBase = 0x1161,
                   kTailBase = 0x11A7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

struct Mark {
  char32_t code_point;
  std::uint8_t combining_class;
};

std::uint8_t combining_class(char32_t c) {
  const auto range = std::lower_bound(
      kCombiningClassRanges.begin(), kCombiningClassRanges.end(), c,
      [](const CodePointRange& candidate, char32_t value) { return candidate.last < value; });
  return range != kCombiningClassRanges.end() && range->first <= c ? range->value : 0;
}

void append_decomposed(std::vector<Mark>& out, char32_t c) {
  if (c >= kSyllableBase && c < kSyllableBase + kSyllableCount) {
    const char32_t index = c - kSyllableBase, tail = index % kTailCount;
    out.push_back({kLeadBase + index / (kVowelCount * kTailCount), 0});
    out.push_back({kVowelBase + index / kTailCount % kVowelCount, 0});
    if (tail != 0) out.push_back({kTailBase + tail, 0});
    return;
  }
  const auto entry = std::lower_bound(
      kCanonicalDecompositions.begin(), kCanonicalDecompositions.end(), c,
      [](const CanonicalDecomposition& row, char32_t value) { return row.composed < value; });
  if (entry == kCanonicalDecompositions.end() || entry->composed != c) {
    out.push_back({c, combining_class(c)});
    return;
  }
  append_decomposed(out, entry->first);  // a few levels at most: the data has no cycles
  if (entry->second != 0) append_decomposed(out, entry->second);
}

std::optional<char32_t> compose_hangul(char32_t first, char32_t second) {
  if (first >= kLeadBase && first < kLeadBase + kLeadCount && second >= kVowelBase &&
      second < kVowelBase + kVowelCount)
    return kSyllableBase + ((first - kLeadBase) * kVowelCount + (second - kVowelBase)) * kTailCount;
  if (first >= kSyllableBase && first < kSyllableBase + kSyllableCount &&
      (first - kSyllableBase) % kTailCount == 0 && second > kTailBase &&
      second < kTailBase + kTailCount)
    return first + (second - kTailBase);
  return std::nullopt;
}

std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (const auto syllable = compose_hangul(first, second)) return syllable;
  using Pair = std::pair<std::uint64_t, char32_t>;  // (first << 32 | second, composed)
  static const std::vector<Pair> pairs = [] {
    std::vector<Pair> sorted;
    for (const CanonicalDecomposition& row : kCanonicalDecompositions)
      if (row.composes)
        sorted.emplace_back(std::uint64_t{row.first} << 32 | row.second, row.composed);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }();
  const std::uint64_t key = std::uint64_t{first} << 32 | second;
  const auto found = std::lower_bound(pairs.begin(), pairs.end(), Pair{key, 0});
  if (found == pairs.end() || found->first != key) return std::nullopt;
  return found->second;
}

// Each run of marks after a starter goes by ascending combining class, equals as they came.
void order_marks(std::vector<Mark>& marks) {
  auto starter = [](const Mark& mark) { return mark.combining_class == 0; };
  for (auto run = marks.begin(); run != marks.end();) {
    run = std::find_if_not(run, marks.end(), starter);
    const auto end = std::find_if(run, marks.end(), starter);
    std::stable_sort(run, end, [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    });
    run = end;
  }
}

void append_composed(std::string& out, std::vector<Mark>& marks) {
  std::size_t kept = 0;  // marks[0, kept) is the result so far
  std::optional<std::size_t> starter;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const Mark mark = marks[i];
    if (starter) {
      // Blocked when something between has at least this class (or is another starter).
      const bool adjacent = *starter + 1 == kept;
      const bool blocked = !adjacent && (marks[kept - 1].combining_class >= mark.combining_class);
      if (!blocked) {
        if (const auto composed = compose(marks[*starter].code_point, mark.code_point)) {
          marks[*starter].code_point = *composed;
          continue;
        }
      }
    }
    if (mark.combining_class == 0) starter = kept;
    marks[kept++] = mark;
  }
  for (std::size_t i = 0; i < kept; ++i) append_utf8(out, marks[i].code_point);
}

void append_normalized(std::string& out, std::string_view text) {
  std::vector<Mark> marks;
  while (!text.empty()) {
    const DecodedChar decoded = decode_utf8(text);
    append_decomposed(marks, decoded.code_point);
    text.remove_prefix(decoded.length);
  }
  order_marks(marks);
  append_composed(out, marks);
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  const CharPropertyTable& properties = char_properties();
  storage.clear();
  std::size_t done = 0;  // text[0, done) is in `storage`
  std::size_t safe = 0;  // the last safe character: the next unsafe one may touch it
  bool in_segment = false;
  auto end_segment = [&](std::size_t end) {
    storage.append(text.substr(done, safe - done));
    append_normalized(storage, text.substr(safe, end - safe));
    done = end;
    in_segment = false;
  };
  for (std::size_t pos = 0; pos < text.size();) {
    const DecodedChar decoded = decode_utf8(text.substr(pos));
    if ((properties[decoded.code_point] & kNfcUnsafe) != 0) {
      in_segment = true;
    } else {
      if (in_segment) end_segment(pos);
      safe = pos;
    }
    pos += decoded.length;
  }
  if (in_segment) end_segment(text.size());
  if (done == 0) return text;
  storage.append(text.substr(done));
  return storage;
}

}  // namespace emlx

#include "formats/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "formats/byte_reader.h"
#include "formats/foreign_file.h"

namespace emlx {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the formats read here are little-endian");

constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint32_t kMaxAxes = 4;
// The least bytes a pair and a tensor info take: what bounds their counts before anything is read.
constexpr std::size_t kLeastPairBytes = 8 + 1 + 4 + 1;
constexpr std::size_t kLeastInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;

// ggml's type numbers; those without a dtype are known by name only.
struct GgmlType {
  std::uint32_t number;
  const char* name;
  std::optional<DType> dtype;
};
constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", DType::F32},       {1, "F16", DType::F16},        {2, "Q4_0", DType::Q4_0},
    {3, "Q4_1", DType::Q4_1},     {6, "Q5_0", std::nullopt},     {7, "Q5_1", std::nullopt},
    {8, "Q8_0", DType::Q8_0},     {9, "Q8_1", std::nullopt},     {10, "Q2_K", std::nullopt},
    {11, "Q3_K", std::nullopt},   {12, "Q4_K", std::nullopt},    {13, "Q5_K", std::nullopt},
    {14, "Q6_K", std::nullopt},   {15, "Q8_K", std::nullopt},    {16, "IQ2_XXS", std::nullopt},
    {17, "IQ2_XS", std::nullopt}, {18, "IQ3_XXS", std::nullopt}, {19, "IQ1_S", std::nullopt},
    {20, "IQ4_NL", std::nullopt}, {21, "IQ3_S", std::nullopt},   {22, "IQ2_S", std::nullopt},
    {23, "IQ4_XS", std::nullopt}, {24, "I8", std::nullopt},      {25, "I16", std::nullopt},
    {26, "I32", std::nullopt},    {27, "I64", std::nullopt},     {28, "F64", std::nullopt},
    {29, "IQ1_M", std::nullopt},  {30, "BF16", DType::BF16},     {34, "TQ1_0", std::nullopt},
    {35, "TQ2_0", std::nullopt},  {39, "MXFP4", std::nullopt},   {40, "NVFP4", std::nullopt},
};

DType read_ggml_type(ByteReader& reader, const std::string& where) {
  const auto number = reader.read<std::uint32_t>("tensor type");
  const auto* const known =
      std::find_if(std::begin(kGgmlTypes), std::end(kGgmlTypes),
                   [number](const GgmlType& type) { return type.number == number; });
  if (known == std::end(kGgmlTypes))
    fail(ErrorCode::Unsupported, "{}: tensor type {} is not supported", where, number);
  if (!known->dtype)
    fail(ErrorCode::Unsupported,
         "{}: tensor type {} is not supported (F32, F16, BF16, Q4_0, Q4_1 and Q8_0 are)", where,
         known->name);
  return *known->dtype;
}

struct GgufTensor {
  TensorView view;  // without data
  std::uint64_t offset;
  std::uint64_t bytes;
};

GgufTensor read_info(ByteReader& reader) {
  GgufTensor info{};
  info.view.name = reader.read_text("tensor name");
  if (info.view.name.empty() || !is_valid_utf8(info.view.name))
    fail(ErrorCode::InvalidFile, "{}: expected a tensor name in UTF-8, got {}", reader.what(),
         quote(info.view.name));
  const std::string where = fmt::format("{}: tensor {}", reader.what(), quote(info.view.name));
  const auto axes = reader.read<std::uint32_t>("tensor axes");
  if (axes < 1 || axes > kMaxAxes)
    fail(ErrorCode::InvalidFile, "{}: expected 1 to {} axes, got {}", where, kMaxAxes, axes);
  for (std::uint32_t i = 0; i < axes; ++i) {
    const auto size = reader.read<std::uint64_t>("tensor shape");
    if (size < 1 || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(ErrorCode::InvalidFile, "{}: expected axes of at least 1, got {}", where, size);
    info.view.shape.insert(info.view.shape.begin(), static_cast<std::int64_t>(size));
  }
  info.view.dtype = read_ggml_type(reader, where);
  info.offset = reader.read<std::uint64_t>("tensor offset");
  const auto bytes = byte_size(info.view.dtype, info.view.shape);
  if (!bytes)
    fail(ErrorCode::InvalidFile, "{}: {} {} is not a possible size", where,
         to_string(info.view.dtype), to_string(info.view.shape));
  info.bytes = static_cast<std::uint64_t>(*bytes);
  return info;
}

std::uint64_t read_alignment(const GgufMetadata& metadata) {
  const auto alignment =
      static_cast<std::uint64_t>(metadata.integer("general.alignment").value_or(kDefaultAlignment));
  if (!std::has_single_bit(alignment) || alignment > (std::uint64_t{1} << 30))
    fail(ErrorCode::InvalidFile, "{}: expected general.alignment to be a power of two, got {}",
         metadata.origin(), static_cast<std::int64_t>(alignment));
  return alignment;
}

// Sorts by offset, cuts the data out and checks that tensors lie inside it, aligned and apart.
std::vector<TensorView> place_tensors(std::vector<GgufTensor> infos,
                                      std::span<const std::byte> data, std::uint64_t alignment,
                                      std::string_view what) {
  std::sort(infos.begin(), infos.end(),
            [](const GgufTensor& a, const GgufTensor& b) { return a.offset < b.offset; });
  std::vector<TensorView> tensors;
  std::uint64_t end = 0;
  for (GgufTensor& info : infos) {
    const auto where = [&] { return fmt::format("{}: tensor {}", what, quote(info.view.name)); };
    if (info.offset % alignment != 0)
      fail(ErrorCode::InvalidFile, "{}: expected an offset aligned to {}, got {}", where(),
           alignment, info.offset);
    if (info.offset > data.size() || info.bytes > data.size() - info.offset)
      fail(ErrorCode::InvalidFile,
           "{}: expected {} bytes at offset {}, got a file with {} bytes of data (truncated?)",
           where(), info.bytes, info.offset, data.size());
    if (info.offset < end)
      fail(ErrorCode::InvalidFile, "{}: expected its data from offset {}, got {} (tensors overlap)",
           where(), end, info.offset);
    end = info.offset + info.bytes;
    info.view.data =
        data.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(info.bytes));
    tensors.push_back(std::move(info.view));
  }
  return tensors;
}

void check_version(std::uint32_t version, std::string_view what) {
  if (version == 2 || version == 3) return;
  if (version == 1)
    fail(ErrorCode::Unsupported, "{}: GGUF version 1 is not supported (2 and 3 are)", what);
  if (version != 0 && (version & 0xFFFFU) == 0)
    fail(ErrorCode::Unsupported, "{}: a big-endian GGUF file is not supported", what);
  fail(ErrorCode::InvalidFile, "{}: expected GGUF version 2 or 3, got {}", what, version);
}

void check_count(std::uint64_t count, std::size_t least_bytes, const ByteReader& reader,
                 const char* things) {
  if (count > reader.remaining() / least_bytes)
    fail(ErrorCode::InvalidFile,
         "{}: expected {} {}, got a file that has {} bytes left (truncated?)", reader.what(), count,
         things, reader.remaining());
}

}  // namespace

GgufContents parse_gguf(std::span<const std::byte> file, std::string_view what) {
  ByteReader reader(file, std::string(what));
  if (file.size() < 4 || std::memcmp(reader.take(4, "magic").data(), "GGUF", 4) != 0)
    fail(ErrorCode::InvalidFile, "{}: expected a GGUF file{}", what, foreign_file_hint(file));
  check_version(reader.read<std::uint32_t>("version"), what);
  const auto tensor_count = reader.read<std::uint64_t>("tensor count");
  const auto pair_count = reader.read<std::uint64_t>("metadata count");
  check_count(pair_count, kLeastPairBytes, reader, "metadata pairs");
  check_count(tensor_count, kLeastInfoBytes, reader, "tensors");

  GgufContents contents{GgufMetadata(std::string(what)), {}};
  contents.metadata.read_pairs(reader, pair_count);
  if (contents.metadata.integer("split.count").value_or(1) > 1)
    fail(ErrorCode::Unsupported, "{}: a split GGUF file is not supported", what);
  const std::uint64_t alignment = read_alignment(contents.metadata);
  std::vector<GgufTensor> infos;
  for (std::uint64_t i = 0; i < tensor_count; ++i) infos.push_back(read_info(reader));
  // Data starts at the next multiple of the alignment; a file may end before it if it has no data.
  const std::uint64_t padding = (alignment - reader.position() % alignment) % alignment;
  reader.take(std::min<std::uint64_t>(padding, reader.remaining()), "padding");
  contents.tensors =
      place_tensors(std::move(infos), file.subspan(reader.position()), alignment, what);
  return contents;
}

GgufFile open_gguf(const std::filesystem::path& path) {
  std::vector<MappedFile> files;
  files.emplace_back(path);
  GgufContents contents = parse_gguf(files.back().bytes(), path.string());
  return {std::move(contents.metadata),
          std::make_shared<const TensorSet>(path.string(), std::move(files),
                                            std::move(contents.tensors))};
}

}  // namespace emlx

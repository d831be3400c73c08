#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "formats/foreign_file.h"
#include "formats/json_file.h"

namespace emlx {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the formats read here are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxIndexBytes = std::size_t{64} << 20;
constexpr const char* kIndexName = "model.safetensors.index.json";

DType read_dtype(const JsonValue& value, const std::string& where) {
  constexpr std::array kReadable = {DType::Bool, DType::U8,  DType::I8,  DType::U16, DType::I16,
                                    DType::U32,  DType::I32, DType::U64, DType::I64, DType::F16,
                                    DType::BF16, DType::F32, DType::F64};
  constexpr std::array kKnown = {"F4",      "F6_E2M3",     "F6_E3M2",     "F8_E5M2", "F8_E4M3",
                                 "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"};
  if (!value.is_string()) fail(ErrorCode::InvalidFile, "{}: expected a dtype name", where);
  const std::string_view name(value.get_string());
  for (const DType dtype : kReadable)
    if (name == to_string(dtype)) return dtype;
  if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end())
    fail(ErrorCode::Unsupported, "{}: dtype {} is not supported", where, name);
  fail(ErrorCode::InvalidFile, "{}: expected a safetensors dtype, got {}", where, quote(name));
}

// A list of integers >= 0, of `size` elements if that is given.
std::vector<std::int64_t> read_counts(const JsonValue& value, std::optional<std::size_t> size,
                                      const std::string& where, const char* field) {
  const JsonArray* list = value.if_array();
  if (list == nullptr || (size && list->size() != *size))
    fail(ErrorCode::InvalidFile, "{}: expected {} to be a list{}", where, field,
         size ? fmt::format(" of {} integers", *size) : "");
  std::vector<std::int64_t> counts;
  for (const JsonValue& item : *list) {
    const std::int64_t* count = item.if_int64();
    if (count == nullptr || *count < 0)
      fail(ErrorCode::InvalidFile, "{}: expected {} of integers >= 0, got {}", where, field,
           quote(to_json(item)));
    counts.push_back(*count);
  }
  return counts;
}

const JsonValue& member(const JsonObject& object, const char* name, const std::string& where) {
  if (const JsonValue* value = object.if_contains(name)) return *value;
  fail(ErrorCode::InvalidFile, "{}: {} is missing", where, name);
}

TensorView read_tensor(std::string_view name, const JsonValue& entry,
                       std::span<const std::byte> data, std::string_view what) {
  const std::string where = fmt::format("{}: tensor {}", what, quote(name));
  const JsonObject* object = entry.if_object();
  if (object == nullptr) fail(ErrorCode::InvalidFile, "{}: expected a JSON object", where);
  TensorView tensor{.name = std::string(name), .dtype = DType::F32, .shape = {}, .data = {}};
  tensor.dtype = read_dtype(member(*object, "dtype", where), where);
  tensor.shape = read_counts(member(*object, "shape", where), std::nullopt, where, "shape");
  const auto offsets =
      read_counts(member(*object, "data_offsets", where), 2, where, "data_offsets");
  const std::int64_t begin = offsets[0];
  const std::int64_t end = offsets[1];
  if (begin > end)
    fail(ErrorCode::InvalidFile, "{}: expected data_offsets in order, got [{}, {}]", where, begin,
         end);
  if (static_cast<std::uint64_t>(end) > data.size())
    fail(ErrorCode::InvalidFile, "{}: expected data up to byte {}, got a file that ends at {}",
         where, end, data.size());
  const auto size = byte_size(tensor.dtype, tensor.shape);
  if (!size || *size != end - begin)
    fail(ErrorCode::InvalidFile, "{}: expected {} {} to take {} bytes, got {}", where,
         to_string(tensor.dtype), to_string(tensor.shape),
         size ? std::to_string(*size) : "impossibly many", end - begin);
  tensor.data = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(*size));
  return tensor;
}

void check_metadata(const JsonValue& metadata, std::string_view what) {
  const JsonObject* object = metadata.if_object();
  const bool good =
      object != nullptr && std::all_of(object->begin(), object->end(),
                                       [](const auto& item) { return item.value().is_string(); });
  if (!good) fail(ErrorCode::InvalidFile, "{}: expected __metadata__ to map names to text", what);
}

// The tensors' bytes must tile [0, data.size()).
void check_coverage(std::vector<TensorView>& tensors, std::span<const std::byte> data,
                    std::string_view what) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return std::pair(a.data.data(), a.data.size()) < std::pair(b.data.data(), b.data.size());
  });
  const std::byte* covered = data.data();
  for (const TensorView& tensor : tensors) {
    if (tensor.data.data() != covered)
      fail(ErrorCode::InvalidFile, "{}: tensor {}: expected its data at byte {}, got {} ({})", what,
           quote(tensor.name), covered - data.data(), tensor.data.data() - data.data(),
           tensor.data.data() < covered ? "tensors overlap" : "a hole");
    covered += tensor.data.size();
  }
  const auto end = static_cast<std::size_t>(covered - data.data());
  if (end != data.size())
    fail(ErrorCode::InvalidFile,
         "{}: expected {} bytes of tensors, got {} (file not fully covered)", what, end,
         data.size());
}

std::vector<TensorView> take_all(const std::vector<std::filesystem::path>& paths,
                                 std::vector<MappedFile>& files) {
  std::vector<TensorView> tensors;
  for (const auto& path : paths) {
    files.emplace_back(path);
    auto found = parse_safetensors(files.back().bytes(), path.string());
    std::move(found.begin(), found.end(), std::back_inserter(tensors));
  }
  return tensors;
}

// Which tensors each shard has to give. Names come from a foreign file: only plain file names pass.
using ShardMap = std::map<std::string, std::vector<std::string>>;

ShardMap read_index(const std::filesystem::path& path) {
  const JsonValue index = read_json_object(path, kMaxIndexBytes);
  const JsonValue* map = index.get_object().if_contains("weight_map");
  if (map == nullptr || !map->is_object() || map->get_object().empty())
    fail(ErrorCode::InvalidFile, "{}: expected weight_map to map tensors to files", path.string());
  ShardMap shards;
  for (const auto& item : map->get_object()) {
    const std::string name(item.value().is_string() ? std::string_view(item.value().get_string())
                                                    : std::string_view());
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
      fail(ErrorCode::InvalidFile,
           "{}: tensor {}: expected the name of a file in the same folder, "
           "got {}",
           path.string(), quote(item.key()), quote(to_json(item.value())));
    shards[name].emplace_back(item.key());
  }
  return shards;
}

std::vector<TensorView> take_indexed(const std::filesystem::path& folder,
                                     const std::filesystem::path& index,
                                     std::vector<MappedFile>& files) {
  std::vector<TensorView> tensors;
  for (const auto& [shard, names] : read_index(index)) {
    if (std::error_code error; !std::filesystem::exists(folder / shard, error))
      fail(ErrorCode::InvalidFile, "{} names {}, which is missing", index.string(), quote(shard));
    files.emplace_back(folder / shard);
    const std::string what = (folder / shard).string();
    const TensorSet found(what, {}, parse_safetensors(files.back().bytes(), what));
    for (const std::string& name : names) tensors.push_back(found.require(name));
  }
  return tensors;
}

std::vector<std::filesystem::path> find_weight_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("model") && name.ends_with(".safetensors")) paths.push_back(entry->path());
  }
  if (error) fail(ErrorCode::InvalidFile, "cannot list {}: {}", folder.string(), error.message());
  std::sort(paths.begin(), paths.end());
  if (paths.empty())
    fail(ErrorCode::InvalidFile, "{}: expected weights in model*.safetensors, found none",
         folder.string());
  return paths;
}

}  // namespace

std::vector<TensorView> parse_safetensors(std::span<const std::byte> file, std::string_view what) {
  if (file.size() < kLengthBytes)
    fail(ErrorCode::InvalidFile, "{}: expected a safetensors file, got {} bytes{}", what,
         file.size(), foreign_file_hint(file));
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes)
    fail(ErrorCode::InvalidFile, "{}: expected a safetensors header of at most {} bytes, got {}{}",
         what, kMaxHeaderBytes, header_bytes, foreign_file_hint(file));
  if (header_bytes > file.size() - kLengthBytes)
    fail(ErrorCode::InvalidFile, "{}: expected a header of {} bytes, got a file of {}", what,
         header_bytes, file.size());
  const auto* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  const std::string header_name = fmt::format("{}: safetensors header", what);
  const JsonValue header =
      parse_file_json({text, static_cast<std::size_t>(header_bytes)}, header_name,
                      {.max_bytes = kMaxHeaderBytes, .max_depth = 8, .unique_keys = true});
  if (text[0] != '{') fail(ErrorCode::InvalidFile, "{}: expected a JSON object", header_name);

  const auto data = file.subspan(kLengthBytes + static_cast<std::size_t>(header_bytes));
  std::vector<TensorView> tensors;
  for (const auto& item : header.get_object()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_null()) check_metadata(item.value(), what);
    } else {
      tensors.push_back(read_tensor(item.key(), item.value(), data, what));
    }
  }
  check_coverage(tensors, data, what);
  return tensors;
}

TensorSet open_safetensors(const std::filesystem::path& folder) {
  std::vector<MappedFile> files;
  const auto index = folder / kIndexName;
  std::error_code error;
  auto tensors = std::filesystem::exists(index, error) ? take_indexed(folder, index, files)
                                                       : take_all(find_weight_files(folder), files);
  return TensorSet(folder.string(), std::move(files), std::move(tensors));
}

}  // namespace emlx

#include "formats/safetensors_writer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"

namespace emlx {

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::vector<TensorInfo> tensors)
    : file_(path) {
  const auto order = [](const TensorInfo& tensor) {
    return std::tuple(-block_layout(tensor.dtype).bytes, std::string_view(tensor.name));
  };
  std::sort(tensors.begin(), tensors.end(),
            [&](const TensorInfo& a, const TensorInfo& b) { return order(a) < order(b); });
  JsonObject header = {{"__metadata__", {{"format", "mlx"}}}};
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    const auto bytes = byte_size(tensor.dtype, tensor.shape);
    if (!bytes || block_layout(tensor.dtype).elements != 1 || header.contains(tensor.name))
      fail(ErrorCode::InvalidArgument, "cannot write tensor {}: {} {} {}", quote(tensor.name),
           to_string(tensor.dtype), to_string(tensor.shape),
           header.contains(tensor.name) ? "is there already" : "is no possible tensor");
    const Place place{.offset = end, .bytes = static_cast<std::uint64_t>(*bytes)};
    end += place.bytes;
    header[tensor.name] = {{"dtype", to_string(tensor.dtype)},
                           {"shape", JsonArray(tensor.shape.begin(), tensor.shape.end())},
                           {"data_offsets", {place.offset, end}}};
    places_.emplace(tensor.name, place);
  }
  std::string text = to_json(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  file_.write_at(0, std::as_bytes(std::span(&length, 1)));
  file_.write_at(sizeof length, std::as_bytes(std::span(text)));
  for (auto& [name, place] : places_) place.offset += sizeof length + length;
}

void SafetensorsWriter::write(std::string_view name, std::span<const std::byte> data) {
  const auto place = places_.find(name);
  if (place == places_.end() || place->second.bytes != data.size())
    fail(ErrorCode::InvalidArgument, "cannot write {} bytes of tensor {}: expected {}", data.size(),
         quote(name),
         place == places_.end() ? "no such tensor" : std::to_string(place->second.bytes));
  file_.write_at(place->second.offset, data);
  places_.erase(place);
}

void SafetensorsWriter::finish() {
  if (!places_.empty())
    fail(ErrorCode::InvalidArgument, "tensor {} was not written", quote(places_.begin()->first));
  file_.commit();
}

}  // namespace emlx

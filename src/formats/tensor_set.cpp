#include "formats/tensor_set.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace emlx {

TensorSet::TensorSet(std::string origin, std::vector<MappedFile> files,
                     std::vector<TensorView> tensors)
    : origin_(std::move(origin)), files_(std::move(files)), tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  const auto twin =
      std::adjacent_find(tensors_.begin(), tensors_.end(),
                         [](const TensorView& a, const TensorView& b) { return a.name == b.name; });
  if (twin != tensors_.end())
    fail(ErrorCode::InvalidFile, "{}: expected every tensor once, got {} twice", origin_,
         quote(twin->name));
}

const TensorView* TensorSet::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const TensorView& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

const TensorView& TensorSet::require(std::string_view name) const {
  if (const TensorView* tensor = find(name)) return *tensor;
  fail(ErrorCode::InvalidFile, "{}: tensor {} is missing", origin_, quote(name));
}

}  // namespace emlx

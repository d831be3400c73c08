// The tensors of a model, and the mapped files they lie in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "formats/tensor.h"

namespace emlx {

// Immutable; keeps the mappings alive. Move-only (views stay valid when moved).
class TensorSet {
 public:
  // `origin` names the files in messages. Throws Error(InvalidFile) for two tensors of one name.
  TensorSet(std::string origin, std::vector<MappedFile> files, std::vector<TensorView> tensors);

  // nullptr if there is none of that name.
  const TensorView* find(std::string_view name) const noexcept;
  // Throws Error(InvalidFile) naming the tensor and the files.
  const TensorView& require(std::string_view name) const;

  const std::string& origin() const noexcept { return origin_; }
  // All tensors, in the order of their names' bytes.
  std::span<const TensorView> tensors() const noexcept { return tensors_; }

 private:
  std::string origin_;
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
};

}  // namespace emlx

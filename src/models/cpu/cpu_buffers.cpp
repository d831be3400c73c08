#include "models/cpu/cpu_buffers.h"

#include <algorithm>

namespace emlx {
namespace {

// Hands out aligned parts of one allocation: a first walk with no memory counts, a second places.
class Arena {
 public:
  explicit Arena(std::byte* base) : base_(base) {}

  template <typename Element>
  void take(Element*& to, std::size_t count) {
    if (base_ != nullptr) to = reinterpret_cast<Element*>(base_ + used_);
    used_ += (count * sizeof(Element) + 255) / 256 * 256;
  }
  void take(MatmulInputs& to, std::size_t columns, std::size_t stride, std::size_t cols) {
    to.stride = stride;
    take(to.rows, columns * stride);
    for (auto [columns_of, group] :
         {std::pair{&to.group32, std::size_t{32}}, std::pair{&to.group64, std::size_t{64}},
          std::pair{&to.group128, std::size_t{128}}}) {
      take(columns_of->values, columns * cols);
      take(columns_of->scales, columns * cols / group);
      take(columns_of->sums, columns * cols / group);
    }
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace

CpuDecoder::Buffers::Buffers(const DecoderSpec& spec, const CpuWeights& weights, int columns,
                             int threads, int pairs)
    : own(static_cast<std::size_t>(threads)), scratch(static_cast<std::size_t>(threads)) {
  const auto row = [](int n) { return static_cast<std::size_t>(padded(n)); };
  const int head = weights.head_size();
  hidden = row(spec.hidden);
  k_at = row(spec.heads * head);
  v_at = k_at + row(spec.kv_heads * head);
  qkv = v_at + row(spec.kv_heads * head);
  attention = row(spec.heads * head);
  up_at = row(spec.intermediate);
  mlp = 2 * up_at;
  const std::size_t widest = std::max({hidden, attention, up_at});
  const auto all = static_cast<std::size_t>(columns);
  const auto place = [&](Arena& arena) {
    arena.take(residual, all * hidden);
    arena.take(projections, all * qkv);
    arena.take(attended, all * attention);
    arena.take(gate_up, all * mlp);
    arena.take(cosines, all * static_cast<std::size_t>(pairs));
    arena.take(sines, all * static_cast<std::size_t>(pairs));
    arena.take(shared, all, widest, widest);
    for (MatmulInputs& inputs : own) arena.take(inputs, 1, widest, widest);
    for (float*& floats : scratch)
      arena.take(floats,
                 std::max(attention_scratch(head), widest) + 2 * static_cast<std::size_t>(head));
  };
  Arena count(nullptr);
  place(count);
  memory = HugeBuffer(count.used());
  Arena arena(memory.data());
  place(arena);
}

}  // namespace emlx

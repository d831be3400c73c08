#include "models/cpu/cpu_decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/portable_math.h"
#include "models/cpu/cpu_buffers.h"

namespace emlx {
namespace {

constexpr int kLogitsChunk = 4096;  // logits whose sum of exponentials one worker takes at once

}  // namespace

// One call of forward(): every worker runs work(), in phases that end when all are done.
class CpuDecoder::Pass {
 public:
  Pass(CpuDecoder& decoder, std::span<const CpuSpan> spans);

  void work(int worker);
  void finish(std::vector<CpuLogits>& results) const;

 private:
  struct Column {
    TokenId token;
    int position;
    const KvSequence* sequence;
  };
  // Columns of one span that attention takes together.
  struct Group {
    const KvSequence* sequence;
    int first, count;
  };
  struct Product {
    const PackedMatrix* matrix;
    MatmulOutput out;
  };

  void embed(int worker);
  void attention(int worker, const CpuLayer& layer, std::size_t index);
  void prepare_heads(const CpuLayer& layer, std::size_t index, int kv_head, int column);
  void attend(int worker, std::size_t index, int kv_head, const Group& group);
  void mlp(int worker, const CpuLayer& layer);
  void head(int worker);

  // The inputs of `formats` for all columns: make_row(column, scratch row) gives each one's floats.
  template <typename MakeRow>
  const MatmulInputs& inputs(int worker, int columns, const InputFormats& formats, int cols,
                             MakeRow&& make_row);
  void multiply(int worker, const MatmulInputs& inputs, int columns,
                std::initializer_list<Product> products);
  void multiply(const PackedMatrix& matrix, const MatmulOutput& out, int first, int last,
                const MatmulInputs& inputs, int columns) const;
  const float* normed(const float* weight, int column, float* row) const;
  std::size_t head_offset(std::size_t layer, int kv_head) const {
    return (layer * static_cast<std::size_t>(spec_.kv_heads) + static_cast<std::size_t>(kv_head)) *
           decoder_.layout_.bytes;
  }

  CpuDecoder& decoder_;
  const DecoderSpec& spec_;
  const KernelTable& kernels_;
  WorkerPool& pool_;
  Buffers& buffers_;
  int head_size_;
  std::vector<Column> columns_;
  std::vector<Group> groups_;
  std::vector<int> wanted_;  // columns
  std::size_t logits_stride_;
  std::vector<LogSumExp> parts_;  // [wanted][chunks]
  int chunks_;
};

CpuDecoder::Pass::Pass(CpuDecoder& decoder, std::span<const CpuSpan> spans)
    : decoder_(decoder),
      spec_(decoder.model_->spec),
      kernels_(decoder.kernels_),
      pool_(decoder.pool_),
      buffers_(*decoder.buffers_),
      head_size_(decoder.weights_.head_size()),
      logits_stride_(static_cast<std::size_t>(padded(spec_.vocab))),
      chunks_((spec_.vocab + kLogitsChunk - 1) / kLogitsChunk) {
  const int heads = spec_.heads / spec_.kv_heads;
  const int together = std::max(1, 16 / heads);  // rows that share a block of K and V in the cache
  for (const CpuSpan& span : spans) {
    const int start = static_cast<int>(columns_.size()),
              count = static_cast<int>(span.tokens.size());
    for (int i = 0; i < count; ++i)
      columns_.push_back(
          {span.tokens[static_cast<std::size_t>(i)], span.first_position + i, span.sequence});
    for (int i = 0; i < count; i += together)
      groups_.push_back({span.sequence, start + i, std::min(together, count - i)});
    for (int i = span.logits_from; i < count; ++i) wanted_.push_back(start + i);
  }
  const std::size_t bytes = wanted_.size() * logits_stride_ * sizeof(float);
  if (buffers_.logits.size() < bytes) {
    buffers_.logits = HugeBuffer();
    buffers_.logits = HugeBuffer(bytes);
  }
  parts_.resize(wanted_.size() * static_cast<std::size_t>(chunks_));
}

void CpuDecoder::Pass::work(int worker) {
  embed(worker);
  const std::vector<CpuLayer>& layers = decoder_.weights_.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    attention(worker, layers[i], i);
    mlp(worker, layers[i]);
  }
  if (!wanted_.empty()) head(worker);
}

void CpuDecoder::Pass::embed(int worker) {
  const auto pairs = static_cast<std::size_t>(decoder_.angles_.pairs());
  pool_.phase(worker, static_cast<int>(columns_.size()), 4, [&](int first, int last) {
    for (int c = first; c < last; ++c) {
      const auto at = static_cast<std::size_t>(c);
      float* const row = buffers_.residual + at * buffers_.hidden;
      read_embedding(decoder_.model_->weights.embedding, columns_[at].token, row);
      // A pass with NaNs leaves them in the padding too.
      std::fill(row + spec_.hidden, row + buffers_.hidden, 0.0F);
      decoder_.angles_.write(columns_[at].position, buffers_.cosines + at * pairs,
                             buffers_.sines + at * pairs);
    }
  });
}

const float* CpuDecoder::Pass::normed(const float* weight, int column, float* row) const {
  kernels_.rms_norm(buffers_.residual + static_cast<std::size_t>(column) * buffers_.hidden, weight,
                    spec_.hidden, static_cast<int>(buffers_.hidden), spec_.rms_eps, row);
  return row;
}

// One column: every worker makes its own inputs, which costs less than waiting for each other.
template <typename MakeRow>
const MatmulInputs& CpuDecoder::Pass::inputs(int worker, int columns, const InputFormats& formats,
                                             int cols, MakeRow&& make_row) {
  MatmulInputs& to =
      columns == 1 ? buffers_.own[static_cast<std::size_t>(worker)] : buffers_.shared;
  const auto make = [&](int column) {
    float* const kept = to.rows + static_cast<std::size_t>(column) * to.stride;
    const float* const row = make_row(column, kept);
    if (formats.floats) {
      if (row != kept) std::copy_n(row, cols, kept);
      std::fill(kept + cols, kept + padded(cols), 0.0F);
    }
    if (formats.group32) kernels_.quantize(row, cols, 32, column, columns, to.group32);
    if (formats.group64) kernels_.quantize(row, cols, 64, column, columns, to.group64);
    if (formats.group128) kernels_.quantize(row, cols, 128, column, columns, to.group128);
  };
  if (columns == 1) {
    make(0);
  } else {
    pool_.phase(worker, columns, 2, [&](int first, int last) {
      for (int column = first; column < last; ++column) make(column);
    });
  }
  return to;
}

void CpuDecoder::Pass::multiply(const PackedMatrix& matrix, const MatmulOutput& out, int first,
                                int last, const MatmulInputs& inputs, int columns) const {
  if (const AffinePanels* const affine = matrix.affine()) {
    kernels_.matmul_affine(*affine, first, last, inputs.of(affine->group), columns, out);
  } else {
    kernels_.matmul_dense(std::get<DensePanels>(matrix.data), first, last, inputs.rows,
                          inputs.stride, columns, out);
  }
}

// One phase over the panels of all products, which read the same inputs.
void CpuDecoder::Pass::multiply(int worker, const MatmulInputs& inputs, int columns,
                                std::initializer_list<Product> products) {
  int panels = 0;
  std::size_t panel_bytes = 1;
  for (const Product& product : products) {
    panels += product.matrix->panels;
    std::visit([&](const auto& data) { panel_bytes = std::max(panel_bytes, data.panel_bytes); },
               product.matrix->data);
  }
  // About 128 KB of weights at once where memory is the limit, four panels where the cache is.
  const int chunk = columns > 16 ? 4 : std::max(1, static_cast<int>(131072 / panel_bytes));
  pool_.phase(worker, panels, chunk, [&](int first, int last) {
    int start = 0;
    for (const Product& product : products) {
      const int end = start + product.matrix->panels;
      if (first < end && last > start)
        multiply(*product.matrix, product.out, std::max(first, start) - start,
                 std::min(last, end) - start, inputs, columns);
      start = end;
    }
  });
}

void CpuDecoder::Pass::attention(int worker, const CpuLayer& layer, std::size_t index) {
  const int columns = static_cast<int>(columns_.size());
  const MatmulInputs& in =
      inputs(worker, columns, layer.attention_in, spec_.hidden,
             [&](int column, float* row) { return normed(layer.attention_norm, column, row); });
  const auto to = [&](const PackedMatrix& matrix, std::size_t at) {
    return Product{&matrix,
                   {buffers_.projections + at, buffers_.qkv, Epilogue::Store, matrix.bias}};
  };
  multiply(worker, in, columns,
           {to(layer.q, 0), to(layer.k, buffers_.k_at), to(layer.v, buffers_.v_at)});

  if (columns == 1) {
    pool_.phase(worker, spec_.kv_heads, 1, [&](int first, int last) {
      for (int head = first; head < last; ++head) {
        prepare_heads(layer, index, head, 0);
        attend(worker, index, head, groups_.front());
      }
    });
  } else {
    // Runs of 16 columns: neighbouring positions share cache lines of K.
    const int runs = (columns + 15) / 16;
    pool_.phase(worker, spec_.kv_heads * runs, 1, [&](int first, int last) {
      for (int i = first; i < last; ++i)
        for (int column = i % runs * 16; column < std::min(columns, i % runs * 16 + 16); ++column)
          prepare_heads(layer, index, i / runs, column);
    });
    pool_.phase(worker, static_cast<int>(groups_.size()) * spec_.kv_heads, 1,
                [&](int first, int last) {
                  for (int i = first; i < last; ++i)
                    attend(worker, index, i % spec_.kv_heads,
                           groups_[static_cast<std::size_t>(i / spec_.kv_heads)]);
                });
  }

  const int size = spec_.heads * spec_.head_dim;
  const MatmulInputs& o_in = inputs(worker, columns, layer.o_in, size, [&](int column, float* row) {
    const float* from = buffers_.attended + static_cast<std::size_t>(column) * buffers_.attention;
    if (head_size_ == spec_.head_dim) return from;
    for (int head = 0; head < spec_.heads; ++head)
      std::copy_n(from + head * head_size_, spec_.head_dim, row + head * spec_.head_dim);
    return static_cast<const float*>(row);
  });
  multiply(worker, o_in, columns,
           {{&layer.o, {buffers_.residual, buffers_.hidden, Epilogue::Add, layer.o.bias}}});
}

// Norm and RoPE of a KV head's key and its queries, in place; key and value into their block.
void CpuDecoder::Pass::prepare_heads(const CpuLayer& layer, std::size_t index, int kv_head,
                                     int column) {
  const auto at = static_cast<std::size_t>(column);
  const auto pairs = static_cast<std::size_t>(decoder_.angles_.pairs());
  const RopeRow rope{buffers_.cosines + at * pairs, buffers_.sines + at * pairs,
                     decoder_.angles_.pairs()};
  float* const row = buffers_.projections + at * buffers_.qkv;
  const int heads = spec_.heads / spec_.kv_heads;
  // Scores are taken as powers of two.
  const auto factor = static_cast<float>(1.4426950408889634 / std::sqrt(spec_.head_dim));
  const auto turn = [&](float* vector, const float* norm, float times) {
    kernels_.head_rope(vector, norm, spec_.head_dim, head_size_, spec_.rms_eps, rope, times,
                       vector);
  };
  for (int head = kv_head * heads; head < (kv_head + 1) * heads; ++head)
    turn(row + head * head_size_, layer.q_norm, factor);
  float* const key = row + buffers_.k_at + static_cast<std::size_t>(kv_head * head_size_);
  turn(key, layer.k_norm, 1.0F);
  const Column& c = columns_[at];
  kernels_.kv_write(decoder_.layout_,
                    c.sequence->block_of(c.position) + head_offset(index, kv_head),
                    c.position % kKvBlock, key,
                    row + buffers_.v_at + static_cast<std::size_t>(kv_head * head_size_));
}

void CpuDecoder::Pass::attend(int worker, std::size_t index, int kv_head, const Group& group) {
  const int heads = spec_.heads / spec_.kv_heads;
  const auto first = static_cast<std::size_t>(group.first);
  // A group of more than one column has few heads; more heads than fit at once have one column.
  for (int head = 0; head < heads; head += kAttentionRows) {
    const auto at =
        static_cast<std::size_t>(kv_head * heads + head) * static_cast<std::size_t>(head_size_);
    kernels_.attend(decoder_.layout_,
                    {.blocks = group.sequence->blocks(),
                     .head_offset = head_offset(index, kv_head),
                     .queries = buffers_.projections + first * buffers_.qkv + at,
                     .outputs = buffers_.attended + first * buffers_.attention + at,
                     .query_stride = buffers_.qkv,
                     .output_stride = buffers_.attention,
                     .columns = group.count,
                     .heads = std::min(heads - head, kAttentionRows),
                     .first_position = columns_[first].position,
                     .scratch = buffers_.scratch[static_cast<std::size_t>(worker)]});
  }
}

void CpuDecoder::Pass::mlp(int worker, const CpuLayer& layer) {
  const int columns = static_cast<int>(columns_.size());
  const MatmulInputs& in =
      inputs(worker, columns, layer.mlp_in, spec_.hidden,
             [&](int column, float* row) { return normed(layer.mlp_norm, column, row); });
  if (layer.fused_mlp) {
    multiply(worker, in, columns,
             {{&layer.gate_up, {buffers_.gate_up, buffers_.mlp, Epilogue::SiluMul, nullptr}}});
  } else {
    float* const up = buffers_.gate_up + buffers_.up_at;
    multiply(worker, in, columns,
             {{&layer.gate, {buffers_.gate_up, buffers_.mlp, Epilogue::Store, layer.gate.bias}},
              {&layer.up, {up, buffers_.mlp, Epilogue::Store, layer.up.bias}}});
  }
  const MatmulInputs& down_in =
      inputs(worker, columns, layer.down_in, spec_.intermediate, [&](int column, float* row) {
        const float* gate = buffers_.gate_up + static_cast<std::size_t>(column) * buffers_.mlp;
        if (layer.fused_mlp) return gate;
        kernels_.silu_mul(gate, gate + buffers_.up_at, padded(spec_.intermediate), row);
        return static_cast<const float*>(row);
      });
  multiply(worker, down_in, columns,
           {{&layer.down, {buffers_.residual, buffers_.hidden, Epilogue::Add, layer.down.bias}}});
}

void CpuDecoder::Pass::head(int worker) {
  const int wanted = static_cast<int>(wanted_.size());
  const MatmulInputs& in =
      inputs(worker, wanted, decoder_.weights_.head_in(), spec_.hidden, [&](int i, float* row) {
        return normed(decoder_.weights_.final_norm(), wanted_[static_cast<std::size_t>(i)], row);
      });
  float* const logits = buffers_.logits.as<float>();
  multiply(worker, in, wanted,
           {{&decoder_.weights_.head(), {logits, logits_stride_, Epilogue::Store, nullptr}}});
  pool_.phase(worker, wanted * chunks_, 1, [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      const int start = i % chunks_ * kLogitsChunk;
      parts_[static_cast<std::size_t>(i)] = kernels_.log_sum_exp(
          logits + static_cast<std::size_t>(i / chunks_) * logits_stride_ + start,
          std::min(kLogitsChunk, spec_.vocab - start));
    }
  });
}

void CpuDecoder::Pass::finish(std::vector<CpuLogits>& results) const {
  results.clear();
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const float* const logits = buffers_.logits.as<float>() + i * logits_stride_;
    const LogSumExp* const parts = parts_.data() + i * static_cast<std::size_t>(chunks_);
    float most = parts[0].max;
    for (int k = 1; k < chunks_; ++k) most = std::max(most, parts[k].max);
    double sum = 0;
    for (int k = 0; k < chunks_; ++k) {
      const double below = static_cast<double>(parts[k].max) - static_cast<double>(most);
      sum += static_cast<double>(parts[k].sum) * portable_exp(std::max(below, -700.0));
    }
    const bool finite = std::isfinite(sum) && std::isfinite(most) && sum > 0;
    const float total = finite ? most + static_cast<float>(portable_log(sum)) : std::nanf("");
    // Where rounding makes ties of different logits the first wins, as argmax after subtraction has
    // it.
    int best = 0;
    for (int k = 0; finite && k < chunks_; ++k) {
      if (parts[k].max - total < most - total) continue;
      const int start = k * kLogitsChunk;
      best = start + kernels_.first_at_least(logits + start,
                                             std::min(kLogitsChunk, spec_.vocab - start), total,
                                             most - total);
      break;
    }
    results.push_back({logits, total, best, finite ? logits[best] - total : total});
  }
}

CpuDecoder::CpuDecoder(std::shared_ptr<const Model> model, const KernelTable& kernels, KvKind kv,
                       WorkerPool& pool)
    : model_(std::move(model)),
      kernels_(kernels),
      pool_(pool),
      weights_(*model_, pool),
      layout_(kv_layout(kv, weights_.head_size())),
      angles_(model_->spec.rope),
      buffers_(std::make_unique<Buffers>(model_->spec, weights_, kMaxColumns, pool.threads(),
                                         angles_.pairs())) {}

CpuDecoder::~CpuDecoder() = default;

std::size_t CpuDecoder::block_bytes() const noexcept {
  return static_cast<std::size_t>(model_->spec.layers) *
         static_cast<std::size_t>(model_->spec.kv_heads) * layout_.bytes;
}

std::span<const CpuLogits> CpuDecoder::forward(std::span<const CpuSpan> spans) {
  Pass pass(*this, spans);
  pool_.run([&](int worker) { pass.work(worker); });
  pass.finish(results_);
  return results_;
}

}  // namespace emlx

#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.h"

namespace emlx {
namespace {

// Below this, a logit that is 0.001 behind has a probability under e^-100.
constexpr float kGreedyTemperature = 1e-5F;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// The softmax of [vocab] logits is exp(logit - max) / total.
struct Softmax {
  double max;
  double total;
  float logprob(float logit) const {
    return static_cast<float>(static_cast<double>(logit) - max - std::log(total));
  }
};

Softmax softmax_of(std::span<const float> logits) {
  float max = kMinusInfinity;
  bool nan = false;
  for (const float logit : logits) {
    nan |= std::isnan(logit);
    max = std::max(max, logit);
  }
  if (nan || !std::isfinite(max))
    fail(ErrorCode::Internal, "expected finite logits, the model produced {}",
         nan ? "NaN" : (max > 0 ? "infinity" : "only -infinity"));
  double total = 0.0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) - max);
  return {max, total};
}

// SplitMix64's output function (Steele, Lea, Flood 2014): a bijection that scatters every bit.
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

// Orders token ids by logit, best first; of equals the lower id.
struct Better {
  std::span<const float> logits;
  bool operator()(TokenId a, TokenId b) const {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  }
};

}  // namespace

void validate(const SamplingParams& params) {
  const auto in_unit = [](float value) { return value >= 0.0F && value <= 1.0F; };  // false for NaN
  if (!(params.temperature >= 0.0F) || !std::isfinite(params.temperature))
    fail(ErrorCode::InvalidArgument, "temperature: expected a number >= 0, got {}",
         params.temperature);
  if (!in_unit(params.top_p))
    fail(ErrorCode::InvalidArgument, "top_p: expected a number from 0 to 1, got {}", params.top_p);
  if (!in_unit(params.min_p))
    fail(ErrorCode::InvalidArgument, "min_p: expected a number from 0 to 1, got {}", params.min_p);
  if (params.top_k < 0)
    fail(ErrorCode::InvalidArgument, "top_k: expected an integer >= 0, got {}", params.top_k);
}

bool is_greedy(const SamplingParams& params) noexcept {
  return params.temperature < kGreedyTemperature;
}

float token_logprob(std::span<const float> logits, TokenId id) {
  return softmax_of(logits).logprob(logits[static_cast<std::size_t>(id)]);
}

Sampler::Sampler(const SamplingParams& params, std::uint64_t seed)
    : params_(params), key_(mix(seed + kGoldenGamma)) {}

TokenChoice Sampler::sample(std::span<const float> logits, std::uint64_t draw) {
  const Softmax softmax = softmax_of(logits);
  // Each filter keeps the best of the whole distribution, so their order does not change what
  // remains; the cheap one goes first.
  const double floor = params_.min_p > 0.0F
                           ? softmax.max + std::log(static_cast<double>(params_.min_p))
                           : std::numeric_limits<double>::lowest();
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (static_cast<double>(logits[i]) >= floor) candidates_.push_back(static_cast<TokenId>(i));
  if (params_.top_k > 0) keep_top_k(logits);
  if (params_.top_p > 0.0F && params_.top_p < 1.0F) keep_top_p(logits, softmax.max, softmax.total);

  weights_.clear();
  double sum = 0.0;
  for (const TokenId id : candidates_) {
    const double behind = static_cast<double>(logits[static_cast<std::size_t>(id)]) - softmax.max;
    sum += std::exp(behind / static_cast<double>(params_.temperature));
    weights_.push_back(sum);
  }
  // The first running sum above a point in [0, sum): never a token of weight 0.
  const double point = std::min(uniform(draw) * sum, std::nextafter(sum, 0.0));
  const auto hit = std::upper_bound(weights_.begin(), weights_.end(), point);
  const TokenId id = candidates_[static_cast<std::size_t>(hit - weights_.begin())];
  return {id, softmax.logprob(logits[static_cast<std::size_t>(id)])};
}

void Sampler::keep_top_k(std::span<const float> logits) {
  const auto k = static_cast<std::size_t>(params_.top_k);
  if (k >= candidates_.size()) return;
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(candidates_.begin(), end, candidates_.end(), Better{logits});
  candidates_.erase(end, candidates_.end());
  std::sort(candidates_.begin(), candidates_.end());  // the library's leftover order is its own
}

// Keeps a token while the mass of all better ones is below top_p of the total, and its equals.
void Sampler::keep_top_p(std::span<const float> logits, double max, double total) {
  const double wanted = static_cast<double>(params_.top_p) * total;
  double mass = 0.0;
  std::size_t kept = 0, sorted = 0;
  float last = 0.0F;
  while (kept < candidates_.size()) {
    if (kept == sorted) {  // a nucleus is small: sort only as far as the mass needs
      sorted = std::min(candidates_.size(), std::max<std::size_t>(64, sorted * 4));
      std::partial_sort(candidates_.begin() + static_cast<std::ptrdiff_t>(kept),
                        candidates_.begin() + static_cast<std::ptrdiff_t>(sorted),
                        candidates_.end(), Better{logits});
    }
    const float logit = logits[static_cast<std::size_t>(candidates_[kept])];
    if (mass >= wanted && logit < last) break;
    mass += std::exp(static_cast<double>(logit) - max);
    last = logit;
    ++kept;
  }
  candidates_.resize(kept);
  std::sort(candidates_.begin(), candidates_.end());
}

double Sampler::uniform(std::uint64_t draw) const noexcept {
  return static_cast<double>(mix(key_ + (draw + 1) * kGoldenGamma) >> 11) * 0x1p-53;
}

}  // namespace emlx

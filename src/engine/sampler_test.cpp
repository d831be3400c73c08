#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace emlx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Logits of the given probabilities, off by a constant as a model's are.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + 3.0));
  return logits;
}

std::map<TokenId, int> histogram(const SamplingParams& params, const std::vector<float>& logits,
                                 int draws) {
  Sampler sampler(params, 7);
  std::map<TokenId, int> counts;
  for (int i = 0; i < draws; ++i)
    ++counts[sampler.sample(logits, static_cast<std::uint64_t>(i)).id];
  return counts;
}

// The tokens that can come out at all.
std::set<TokenId> support(const SamplingParams& params, const std::vector<float>& logits) {
  std::set<TokenId> ids;
  for (const auto& [id, count] : histogram(params, logits, 4000)) ids.insert(id);
  return ids;
}

std::string message_of(const SamplingParams& params) {
  try {
    validate(params);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "";
}

SamplingParams warm() {
  SamplingParams params;
  params.temperature = 1.0F;
  return params;
}

TEST(Sampler, DrawsInProportionToTheProbabilities) {
  const auto counts = histogram(warm(), logits_of({0.5, 0.3, 0.15, 0.05}), 40000);
  EXPECT_NEAR(counts.at(0) / 40000.0, 0.5, 0.01);
  EXPECT_NEAR(counts.at(1) / 40000.0, 0.3, 0.01);
  EXPECT_NEAR(counts.at(2) / 40000.0, 0.15, 0.01);
  EXPECT_NEAR(counts.at(3) / 40000.0, 0.05, 0.01);
}

TEST(Sampler, TemperatureReshapesAfterTheFilters) {
  SamplingParams params = warm();
  params.temperature = 0.5F;  // squares the probabilities: 0.49, 0.04, 0.01
  const auto counts = histogram(params, logits_of({0.7, 0.2, 0.1}), 40000);
  EXPECT_NEAR(counts.at(0) / 40000.0, 0.49 / 0.54, 0.01);
  EXPECT_NEAR(counts.at(2) / 40000.0, 0.01 / 0.54, 0.01);
  // At temperature 0.5 the best token alone has over 0.9 of the mass; at 1, where top-p looks, two
  // are needed.
  params.top_p = 0.8F;
  EXPECT_THAT(support(params, logits_of({0.7, 0.2, 0.1})), testing::ElementsAre(0, 1));
}

TEST(Sampler, TopPKeepsTokensWhileTheMassAboveThemIsTooSmall) {
  SamplingParams params = warm();
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  params.top_p = 0.39F;
  EXPECT_THAT(support(params, logits), testing::ElementsAre(1));
  params.top_p = 0.41F;
  EXPECT_THAT(support(params, logits), testing::ElementsAre(1, 3));
  params.top_p = 0.69F;
  EXPECT_THAT(support(params, logits), testing::ElementsAre(1, 3));
  params.top_p = 0.95F;
  EXPECT_THAT(support(params, logits), testing::ElementsAre(0, 1, 2, 3));
}

TEST(Sampler, TopPKeepsAllEqualsOfTheLastToken) {
  SamplingParams params = warm();
  params.top_p = 0.5F;
  EXPECT_THAT(support(params, {2.0F, 1.0F, 2.0F, 2.0F}), testing::ElementsAre(0, 2, 3));
}

TEST(Sampler, TopPFindsANucleusLargerThanItsFirstGuess) {
  SamplingParams params = warm();
  params.top_p = 0.5F;
  std::vector<float> logits(1000);  // slowly falling, in a scrambled order
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i * 7 % logits.size()] = -0.0001F * static_cast<float>(i);
  const auto kept = support(params, logits);
  EXPECT_GT(kept.size(), 450U);
  EXPECT_LE(kept.size(), 489U);  // sum of e^(-i/10000) over 489 of 1000 is over the half
  for (const TokenId id : kept) EXPECT_GT(logits[static_cast<std::size_t>(id)], -0.0489F);
}

TEST(Sampler, MinPIsRelativeToTheBestToken) {
  SamplingParams params = warm();
  params.min_p = 0.45F;
  EXPECT_THAT(support(params, logits_of({0.1, 0.4, 0.2, 0.3})), testing::ElementsAre(1, 2, 3));
  params.min_p = 1.0F;
  EXPECT_THAT(support(params, logits_of({0.1, 0.4, 0.2, 0.3})), testing::ElementsAre(1));
}

TEST(Sampler, TopKKeepsTheBestAndOfEqualsTheLowerIds) {
  SamplingParams params = warm();
  params.top_k = 2;
  EXPECT_THAT(support(params, {0.0F, 1.0F, 2.0F, 1.0F}), testing::ElementsAre(1, 2));
  params.top_k = 1;
  EXPECT_THAT(support(params, {0.0F, 2.0F, 1.0F, 2.0F}), testing::ElementsAre(1));
}

TEST(Sampler, TopKOfTheVocabularyOrMoreIsOff) {
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  const auto off = histogram(warm(), logits, 1000);
  for (const int k : {4, 5, std::numeric_limits<int>::max()}) {
    SamplingParams params = warm();
    params.top_k = k;
    EXPECT_EQ(histogram(params, logits, 1000), off) << k;
  }
}

TEST(Sampler, TopPCountsMassThatOtherFiltersDropped) {
  SamplingParams params = warm();
  params.top_p =
      0.6F;  // of the whole: two tokens, 0.4 + 0.3; of the two that top-k leaves it would be one
  params.top_k = 2;
  EXPECT_THAT(support(params, logits_of({0.1, 0.4, 0.2, 0.3})), testing::ElementsAre(1, 3));
}

TEST(Sampler, SameSeedGivesTheSameDrawsAndAnotherSeedOthers) {
  const std::vector<float> logits(256, 0.0F);
  const auto draws = [&](std::uint64_t seed) {
    Sampler sampler(warm(), seed);
    std::vector<TokenId> ids;
    for (std::uint64_t i = 0; i < 24; ++i) ids.push_back(sampler.sample(logits, i).id);
    return ids;
  };
  EXPECT_EQ(draws(1), draws(1));
  std::set<std::vector<TokenId>> all;
  const std::vector<std::uint64_t> seeds = {0, 1, 2, 1 + (1ULL << 32), 1ULL << 63, ~0ULL};
  for (const std::uint64_t seed : seeds) all.insert(draws(seed));
  EXPECT_EQ(all.size(), seeds.size());
}

TEST(Sampler, ADrawDependsOnItsNumberNotOnTheDrawsBefore) {
  const std::vector<float> logits(256, 0.0F);
  Sampler whole(warm(), 5), resumed(warm(), 5);
  TokenId last = -1;
  for (std::uint64_t i = 0; i < 10; ++i) last = whole.sample(logits, i).id;
  EXPECT_EQ(resumed.sample(logits, 9).id, last);
}

TEST(Sampler, ReportsTheProbabilityBeforeFiltersAndTemperature) {
  SamplingParams params = warm();
  params.temperature = 0.3F;
  params.top_k = 1;
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  const TokenChoice choice = Sampler(params, 1).sample(logits, 0);
  EXPECT_EQ(choice.id, 1);
  EXPECT_NEAR(choice.logprob, std::log(0.4), 1e-6);
  EXPECT_NEAR(token_logprob(logits, 2), std::log(0.2), 1e-6);
}

TEST(Sampler, NeverDrawsATokenOfProbabilityZero) {
  EXPECT_THAT(support(warm(), {-kInfinity, 0.0F, -kInfinity, 0.0F, -kInfinity}),
              testing::ElementsAre(1, 3));
}

TEST(Sampler, SmallestTemperatureThatSamplesIsFinite) {
  SamplingParams params = warm();
  params.temperature = 1e-5F;
  EXPECT_FALSE(is_greedy(params));
  EXPECT_THAT(support(params, {1.0F, 50.0F, 49.9F, -80.0F}), testing::ElementsAre(1));
}

TEST(Sampler, ZeroAndTinyTemperaturesAreGreedy) {
  for (const float temperature : {0.0F, 1e-8F, 1e-45F}) {
    SamplingParams params;
    params.temperature = temperature;
    EXPECT_TRUE(is_greedy(params)) << temperature;
  }
}

TEST(Sampler, RefusesLogitsThatAreNoDistribution) {
  Sampler sampler(warm(), 1);
  for (const std::vector<float>& logits : {std::vector<float>{0.0F, kNan},
                                           {kNan, 0.0F},
                                           {0.0F, kInfinity},
                                           {-kInfinity, -kInfinity}}) {
    try {
      sampler.sample(logits, 0);
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Internal);
    }
    EXPECT_THROW(token_logprob(logits, 0), Error);
  }
}

TEST(SamplingParams, ValidationNamesTheField) {
  EXPECT_EQ(message_of(warm()), "");
  SamplingParams params = warm();
  params.temperature = -0.1F;
  EXPECT_THAT(message_of(params), testing::StartsWith("temperature:"));
  params.temperature = kInfinity;
  EXPECT_THAT(message_of(params), testing::StartsWith("temperature:"));
  params = warm();
  params.top_p = 1.1F;
  EXPECT_THAT(message_of(params), testing::StartsWith("top_p:"));
  params.top_p = kNan;
  EXPECT_THAT(message_of(params), testing::StartsWith("top_p:"));
  params = warm();
  params.min_p = -1.0F;
  EXPECT_THAT(message_of(params), testing::StartsWith("min_p:"));
  params = warm();
  params.top_k = -1;
  EXPECT_THAT(message_of(params), testing::StartsWith("top_k:"));
}

}  // namespace
}  // namespace emlx

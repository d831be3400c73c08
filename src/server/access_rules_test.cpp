#include "server/access_rules.h"

#include <gtest/gtest.h>

namespace emlx {
namespace {

constexpr const char* kPage = "http://page.example";

int status(const AccessRules& rules, const char* host, const char* origin = "",
           const char* method = "POST") {
  const auto refusal = rules.refusal(method, host, origin);
  return refusal ? refusal->status : 200;
}

TEST(AccessRules, OnLoopbackOnlyItsOwnNamesPass) {
  ServerOptions options;
  options.host = "my-box";
  const AccessRules rules(options, true);
  for (const char* host :
       {"localhost", "LocalHost:8080", "127.0.0.1:8080", "127.1.2.3", "[::1]:1", "my-box:9000", ""})
    EXPECT_EQ(status(rules, host), 200) << host;
  for (const char* host :
       {"page.example", "page.example:8080", "localhost.page.example", "127.0.0.1.page.example",
        "192.168.1.5", "0.0.0.0", "[::2]", "[", ":", "user@localhost", "my-box.example"})
    EXPECT_EQ(status(rules, host, "", "GET"), 403) << host;
}

TEST(AccessRules, ElsewhereAnyNamePasses) {
  EXPECT_EQ(status(AccessRules(ServerOptions{}, false), "page.example"), 200);
}

TEST(AccessRules, AllowedNamesPassAndOthersStillDoNot) {
  ServerOptions options;
  options.allow_hosts = {"llm.example", "other"};
  const AccessRules rules(options, true);
  EXPECT_EQ(status(rules, "LLM.example:443"), 200);
  EXPECT_EQ(status(rules, "other"), 200);
  EXPECT_EQ(status(rules, "page.example"), 403);
  options.allow_hosts = {"*"};
  EXPECT_EQ(status(AccessRules(options, true), "page.example"), 200);
}

TEST(AccessRules, PagesOfOtherOriginsCannotPost) {
  const AccessRules rules(ServerOptions{}, true);
  for (const char* origin :
       {kPage, "null", "http://localhost", "http://localhost:80801", "file://"})
    EXPECT_EQ(status(rules, "localhost:8080", origin), 403) << origin;
  EXPECT_EQ(status(rules, "localhost:8080", "http://localhost:8080"), 200);
  EXPECT_EQ(status(rules, "localhost:8080", kPage, "GET"), 200);  // it cannot read the answer
  EXPECT_EQ(status(AccessRules(ServerOptions{}, false), "192.168.1.5", kPage), 403);
}

TEST(AccessRules, AnAllowedOriginPosts) {
  ServerOptions options;
  options.allow_origin = kPage;
  const AccessRules rules(options, true);
  EXPECT_EQ(status(rules, "localhost", kPage), 200);
  EXPECT_EQ(status(rules, "page.example", kPage), 200);
  EXPECT_EQ(status(rules, "localhost", "http://other.example"), 403);
  options.allow_origin = "*";
  EXPECT_EQ(status(AccessRules(options, true), "any.example", "http://other.example"), 200);
}

}  // namespace
}  // namespace emlx

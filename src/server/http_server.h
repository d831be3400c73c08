// The HTTP server: sockets, threads, limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/text_model.h"

namespace emlx {

struct ServerOptions {
  std::string host = "127.0.0.1";  // a name or a numeric address of this machine
  std::uint16_t port = 8080;       // 0: any free one
  std::string allow_origin;        // web pages of this origin may call ("*": any); empty: none
  std::vector<std::string> allow_hosts;  // more names in Host, see AccessRules ("*": any)
  SamplingParams sampling;               // for fields a request leaves out

  int threads = 2;                       // network threads; they also render and encode prompts
  int max_connections = 512;             // more are turned away with 503
  std::uint32_t max_header = 16 * 1024;  // bytes
  std::uint64_t max_body = 16 * 1024 * 1024;             // bytes
  std::size_t max_buffered = 1024 * 1024;                // bytes of a stream its reader lags behind
  std::chrono::milliseconds read_timeout{30'000};        // for a header (or idle), then for a body
  std::chrono::milliseconds write_timeout{30'000};       // for one write
  std::chrono::milliseconds keepalive_interval{10'000};  // silent streams send a comment
  std::chrono::milliseconds shutdown_grace{2'000};       // to say goodbye before sockets close
};

// Serves one model's API (server/api.h) from construction until stop() or destruction.
class HttpServer {
 public:
  // `text` and `engine` must outlive it. Throws Error(InvalidArgument) if it cannot listen there.
  HttpServer(const TextModel& text, Engine& engine, const ServerOptions& options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const noexcept;
  bool is_loopback() const;  // whether only this machine can reach it

  // Stops listening, cancels what runs, tells those clients so, closes all connections and joins
  // the threads. Once is enough; not thread-safe.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emlx

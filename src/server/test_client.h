// A small blocking HTTP client on plain sockets: it can also misbehave.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace emlx {

// A server that hangs up must not kill the test.
#ifdef MSG_NOSIGNAL
inline constexpr int kSendFlags = MSG_NOSIGNAL;
#else  // Apple: a socket option instead
inline constexpr int kSendFlags = 0;
#endif

struct TestReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
};

// Everything throws std::runtime_error after 20 seconds without progress.
class TestClient {
 public:
  // `receive_buffer`: bytes the kernel may hold for us; 0: its choice.
  explicit TestClient(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0)
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
#ifdef SO_NOSIGPIPE
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
  }
  ~TestClient() { ::close(socket_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void send(std::string_view data) {
    while (!data.empty()) {
      const ssize_t sent = ::send(socket_, data.data(), data.size(), kSendFlags);
      if (sent <= 0) throw std::runtime_error("cannot send");
      data.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void request(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& headers = "") {
    send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         body);
  }

  // One reply; `head`: it has no body whatever it says.
  TestReply reply(bool head = false) {
    TestReply reply = reply_head();
    if (head || reply.status == 204 || reply.status == 100) return reply;
    if (reply.headers.contains("content-length")) {
      reply.body = take(std::stoul(reply.headers["content-length"]));
    } else if (reply.headers.contains("transfer-encoding")) {
      reply.body = rest_of_chunks();
    } else {
      while (fill()) {
      }
      reply.body = take(buffer_.size());
    }
    return reply;
  }

  TestReply reply_head() {
    std::string line = this->line();
    TestReply reply;
    if (!line.starts_with("HTTP/1.")) throw std::runtime_error("no reply but " + line);
    reply.status = std::atoi(line.substr(9, 3).c_str());
    while (!(line = this->line()).empty()) {
      const std::size_t colon = line.find(": ");
      std::string name = line.substr(0, colon);
      for (char& c : name) c = static_cast<char>(std::tolower(c));
      reply.headers[name] = line.substr(colon + 2);
    }
    return reply;
  }

  // The next chunk of a chunked body; "" is the last.
  std::string chunk() {
    const std::size_t size = std::stoul(line(), nullptr, 16);
    std::string data = take(size);
    take(2);
    return data;
  }

  std::string rest_of_chunks() {
    std::string all, next;
    while (!(next = chunk()).empty()) all += next;
    return all;
  }

  // Whether the server ended the connection, with nothing left to read.
  bool at_end() { return buffer_.empty() && !fill(); }

  // Waits a moment and tells whether there is something to read.
  bool readable(int milliseconds) {
    pollfd descriptor{socket_, POLLIN, 0};
    return !buffer_.empty() || ::poll(&descriptor, 1, milliseconds) > 0;
  }

  void half_close() { ::shutdown(socket_, SHUT_WR); }  // it can still read

  void reset() {  // closes with RST instead of FIN
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(socket_);
    socket_ = -1;
  }

 private:
  // Reads more into the buffer; false at the end of the connection.
  bool fill() {
    if (pollfd descriptor{socket_, POLLIN, 0}; ::poll(&descriptor, 1, 20'000) <= 0)
      throw std::runtime_error("nothing came");
    char data[65536];
    const ssize_t size = ::recv(socket_, data, sizeof data, 0);
    if (size <= 0) return false;
    buffer_.append(data, static_cast<std::size_t>(size));
    return true;
  }

  std::string take(std::size_t size) {
    while (buffer_.size() < size)
      if (!fill()) throw std::runtime_error("the reply ended early");
    std::string data = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return data;
  }

  std::string line() {
    std::size_t end;
    while ((end = buffer_.find("\r\n")) == std::string::npos)
      if (!fill()) throw std::runtime_error("the connection ended");
    std::string text = take(end + 2);
    text.resize(end);
    return text;
  }

  int socket_;
  std::string buffer_;
};

}  // namespace emlx

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "framework/core/error.h"

namespace cornu::testing {
namespace {

std::string read_request(int connection) {
  std::string request;
  char buffer[1024];
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = recv(connection, buffer, sizeof(buffer), 0);
    if (count <= 0) break;
    request.append(buffer, static_cast<size_t>(count));
  }
  const std::string field = "Content-Length: ";
  const size_t found = request.find(field);
  if (found == std::string::npos) return request;
  const size_t whole =
      request.find("\r\n\r\n") + 4 + std::stoul(request.substr(found + field.size()));
  while (request.size() < whole) {
    const ssize_t count = recv(connection, buffer, sizeof(buffer), 0);
    if (count <= 0) break;
    request.append(buffer, static_cast<size_t>(count));
  }
  return request;
}

void send_all(int connection, const std::string& data) {
  size_t sent = 0;
  while (sent < data.size()) {
    const ssize_t count = send(connection, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

// The first byte that a header like "Range: bytes=100-" asks for, or 0.
size_t range_start(const std::string& request) {
  const std::string field = "Range: bytes=";
  const size_t at = request.find(field);
  return at == std::string::npos ? 0 : std::stoull(request.substr(at + field.size()));
}

// The reply with a header that announces that the connection is closed after it: a client that
// reused the connection would fail now and then.
std::string closing(std::string reply) {
  return reply.insert(reply.find("\r\n"), "\r\nConnection: close");
}

}  // namespace

HttpServer::HttpServer(Files files, Behavior behavior)
    : files_(std::move(files)), behavior_(std::move(behavior)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check<Unavailable>(bind(listener_, generic, length) == 0 && listen(listener_, 8) == 0 &&
                         getsockname(listener_, generic, &length) == 0,
                     "HttpServer: no port on 127.0.0.1.");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  shutdown(listener_, SHUT_RDWR);  // wakes up accept
  thread_.join();
  close(listener_);
}

std::string HttpServer::url() const { return fmt::format("http://127.0.0.1:{}/", port_); }

std::vector<std::string> HttpServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  for (;;) {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    answer(connection);
    close(connection);
  }
}

void HttpServer::answer(int connection) {
  const std::string request = read_request(connection);
  if (request.starts_with("POST ")) {
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const bool refuses = !behavior_.reply.empty();
    send_all(connection,
             closing(refuses ? behavior_.reply : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    return;
  }
  if (!request.starts_with("GET ")) return;
  const std::string path = request.substr(4, request.find(' ', 4) - 4);
  const size_t asked = range_start(request);
  size_t number;
  {
    std::lock_guard lock(mutex_);
    requests_.push_back(asked > 0 ? fmt::format("{} from {}", path, asked) : path);
    number = requests_.size();
  }
  if (!behavior_.reply.empty()) {
    send_all(connection, closing(behavior_.reply));
    return;
  }
  const std::string bearer = "Authorization: Bearer " + behavior_.token + "\r\n";
  if (!behavior_.token.empty() && request.find(bearer) == std::string::npos) {
    send_all(connection, closing("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"));
    return;
  }
  const auto file = files_.find(path);
  if (file == files_.end()) {
    send_all(connection, closing("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    return;
  }
  const bool changed = !behavior_.later.empty() && number > 1;
  const std::string& content = changed ? behavior_.later : file->second;
  const std::string etag = changed ? "\"2\"" : behavior_.etag;
  const bool stale = request.find("If-Range: ") != std::string::npos &&
                     request.find("If-Range: " + etag + "\r\n") == std::string::npos;
  const size_t begin = behavior_.ranges && !stale ? asked : 0;
  if (begin > 0 && begin >= content.size()) {
    send_all(connection,
             closing(fmt::format("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes "
                                 "*/{}\r\nContent-Length: 0\r\n\r\n",
                                 content.size())));
    return;
  }
  std::string head = "HTTP/1.1 200 OK\r\n";
  if (begin > 0) {
    head = fmt::format("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\n", begin,
                       content.size() - 1, content.size());
  }
  if (!etag.empty()) head += "ETag: " + etag + "\r\n";
  head += fmt::format("Content-Length: {}\r\n\r\n", content.size() - begin);
  std::string body = content.substr(begin);
  if (behavior_.break_after > 0 && number == 1) body.resize(behavior_.break_after);
  send_all(connection, closing(head) + body);
}

}  // namespace cornu::testing

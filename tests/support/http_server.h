// SPDX-License-Identifier: Apache-2.0
// A file server on 127.0.0.1 with the faults that downloads must survive.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cornu::testing {

class HttpServer {
 public:
  using Files = std::map<std::string, std::string>;  // contents by path: "/a.gz"
  struct Behavior {
    bool ranges = true;          // supports requests for the rest of a file
    size_t break_after = 0;      // cuts the first response off after this many bytes; 0: never
    std::string etag = "\"1\"";  // of all files; "": none
    std::string later = "";  // content of all files from the second request on, with the ETag "2"
    std::string token = "";  // the token a request must carry, else the response is 401; "": none
    std::string reply = "";  // the complete response to every request, instead of all of the above
  };

  HttpServer(Files files, Behavior behavior);
  explicit HttpServer(Files files = {}) : HttpServer(std::move(files), Behavior()) {}
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // "http://127.0.0.1:<port>/"
  std::string url() const;
  // The requests so far: "/a.gz", or "/a.gz from 100"; for a POST, all of it.
  std::vector<std::string> requests() const;

 private:
  void serve();
  void answer(int connection);

  Files files_;
  Behavior behavior_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace cornu::testing

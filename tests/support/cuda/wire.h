// SPDX-License-Identifier: Apache-2.0
// Messages between processes on one machine.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/io/file_descriptor.h"

namespace cornu::cuda::simulated {

struct Message {
  int64_t call = 0;
  int64_t rank = 0;
  std::vector<std::byte> bytes;
};

// A connection. Its own threads read and write until either end closes it.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  explicit Wire(FileDescriptor socket) : socket_(std::move(socket)) {}

  // `got` is called for each message received.
  void start(std::function<void(Message)> got);
  void send(Message message);
  void close();

 private:
  void read(const std::function<void(Message)>& got);
  void write();

  FileDescriptor socket_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::deque<Message> waiting_;
  bool closed_ = false;
};

// Return a listening socket with a unique name, and a socket connected to the one with that name.
FileDescriptor listen_at(const std::string& name);
FileDescriptor connect_to(const std::string& name);

}  // namespace cornu::cuda::simulated

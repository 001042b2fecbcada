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

// A connection. Threads of its own read and write, until it is closed from either end.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  explicit Wire(FileDescriptor socket) : socket_(std::move(socket)) {}

  // `got`: called for each message that comes.
  void start(std::function<void(Message)> got);
  void send(Message message);
  void close();

 private:
  void read(const std::function<void(Message)>& got);
  void write();

  FileDescriptor socket_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<Message> waiting_;
  bool closed_ = false;
};

// A socket that listens, and one that is connected to it, by a name that no other has.
FileDescriptor listen_at(const std::string& name);
FileDescriptor connect_to(const std::string& name);

}  // namespace cornu::cuda::simulated

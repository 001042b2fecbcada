// SPDX-License-Identifier: Apache-2.0
#include "framework/core/error.h"

namespace cornu {

const char* to_string(StatusCode code) {
  switch (code) {
    case StatusCode::Cancelled:
      return "Cancelled";
    case StatusCode::InvalidArgument:
      return "InvalidArgument";
    case StatusCode::DeadlineExceeded:
      return "DeadlineExceeded";
    case StatusCode::NotFound:
      return "NotFound";
    case StatusCode::AlreadyExists:
      return "AlreadyExists";
    case StatusCode::ResourceExhausted:
      return "ResourceExhausted";
    case StatusCode::FailedPrecondition:
      return "FailedPrecondition";
    case StatusCode::Aborted:
      return "Aborted";
    case StatusCode::OutOfRange:
      return "OutOfRange";
    case StatusCode::Unimplemented:
      return "Unimplemented";
    case StatusCode::Internal:
      return "Internal";
    case StatusCode::Unavailable:
      return "Unavailable";
    case StatusCode::DataLoss:
      return "DataLoss";
  }
  return "Unknown";
}

namespace {

// A message may hold what a file gave: a very long one is cut in its middle.
void cut(std::string& message) {
  constexpr size_t kMost = 8000;
  constexpr size_t kTail = 1000;
  if (message.size() > kMost) message.replace(kMost - kTail, message.size() - kMost, " … ");
}

}  // namespace

Error::Error(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {
  cut(message_);
}

void Error::add_place(const std::string& where) {
  if (placed_) return;
  placed_ = true;
  if (message_.rfind(where, 0) != 0) message_ = where + ": " + message_;
  cut(message_);
}

PeerLost::PeerLost(int rank, std::string address, int64_t step)
    : Unavailable(fmt::format("Lost rank {} at {} in step {}: it stopped answering. Start it again "
                              "to let the job go on.",
                              rank, address, step)),
      rank_(rank),
      address_(std::move(address)),
      step_(step) {}

namespace internal {

void assertion_failed(const char* expression, const std::string& left, const std::string& right,
                      const char* file, int line) {
  raise<Internal>(
      "{}:{}: expected {}, got {} and {}. This is a bug in Cornu; please report it with the "
      "program that shows it.",
      file, line, expression, left, right);
}

}  // namespace internal
}  // namespace cornu

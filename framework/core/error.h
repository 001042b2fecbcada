// SPDX-License-Identifier: Apache-2.0
// Typed errors. Every message says where the error occurred, what was expected, what was found, and
// what to do.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace cornu {

// The standard status codes (as in absl and gRPC), in their numbering.
enum class StatusCode {
  Cancelled = 1,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
};

const char* to_string(StatusCode code);

// Base class of all errors that Cornu throws. `what()` is the message alone, `code()` its kind.
class Error : public std::exception {
 public:
  Error(StatusCode code, std::string message);
  const char* what() const noexcept override { return message_.c_str(); }
  StatusCode code() const noexcept { return code_; }

  // Prepends "where: " to the message, unless an inner place has already been named. For layers and
  // ops that add their names to an error passing through them.
  void add_place(const std::string& where);
  // Appends " more" to the message, for callers that know something its thrower doesn't.
  void add_advice(const std::string& more) { message_ += " " + more; }
  // Returns an error of the same kind with another text; a place that was already named counts as
  // named.
  std::exception_ptr with_text(const std::string& text) const;

 private:
  StatusCode code_;
  std::string message_;
  bool placed_ = false;
};

template <StatusCode kCode>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(std::string message) : Error(kCode, std::move(message)) {}
};

// The kinds of errors: distinct classes, so that the message of an uncaught error shows
// "cornu::NotFound".
struct InvalidArgument : ErrorOf<StatusCode::InvalidArgument> {
  using ErrorOf::ErrorOf;
};
struct DeadlineExceeded : ErrorOf<StatusCode::DeadlineExceeded> {
  using ErrorOf::ErrorOf;
};
struct NotFound : ErrorOf<StatusCode::NotFound> {
  using ErrorOf::ErrorOf;
};
struct AlreadyExists : ErrorOf<StatusCode::AlreadyExists> {
  using ErrorOf::ErrorOf;
};
struct ResourceExhausted : ErrorOf<StatusCode::ResourceExhausted> {
  using ErrorOf::ErrorOf;
};
struct FailedPrecondition : ErrorOf<StatusCode::FailedPrecondition> {
  using ErrorOf::ErrorOf;
};
// Thrown when a part of a distributed job is stopped by a failure elsewhere; the failing part
// reports the original cause.
struct Aborted : ErrorOf<StatusCode::Aborted> {
  using ErrorOf::ErrorOf;
};
struct OutOfRange : ErrorOf<StatusCode::OutOfRange> {
  using ErrorOf::ErrorOf;
};
struct Unimplemented : ErrorOf<StatusCode::Unimplemented> {
  using ErrorOf::ErrorOf;
};
struct Internal : ErrorOf<StatusCode::Internal> {
  using ErrorOf::ErrorOf;
};
struct Unavailable : ErrorOf<StatusCode::Unavailable> {
  using ErrorOf::ErrorOf;
};
struct DataLoss : ErrorOf<StatusCode::DataLoss> {
  using ErrorOf::ErrorOf;
};

// Thrown when code can't be recorded in a trace because it asks for a value that doesn't exist yet.
struct NotTraceable : FailedPrecondition {
  using FailedPrecondition::FailedPrecondition;
};

// Thrown when a signal (SIGINT: Ctrl-C) asked a run to end, and the run ended between two steps.
class Interrupted : public ErrorOf<StatusCode::Cancelled> {
 public:
  Interrupted(int signal, std::string message) : ErrorOf(std::move(message)), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// Thrown when a peer of a distributed job no longer answers. `rank` is the peer's rank, `step` the
// global step at which it went missing.
class PeerLost : public Unavailable {
 public:
  PeerLost(int rank, std::string address, int64_t step);
  int rank() const { return rank_; }
  const std::string& address() const { return address_; }
  int64_t step() const { return step_; }

 private:
  int rank_;
  std::string address_;
  int64_t step_;
};

// The code of any exception: Internal when it isn't an Error.
StatusCode code_of(const std::exception& error);
// Returns an error of this kind; Internal for unknown codes and for Cancelled.
std::exception_ptr error_of(StatusCode code, const std::string& text);

// Throws `Kind` with the formatted message.
template <class Kind, class... Args>
[[noreturn]] void raise(fmt::format_string<Args...> format, Args&&... args) {
  throw Kind(fmt::format(format, std::forward<Args>(args)...));
}

// Throws `Kind` with the formatted message unless `ok`. For mistakes a user can make.
template <class Kind, class... Args>
void check(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    raise<Kind>(format, std::forward<Args>(args)...);
}

namespace internal {
[[noreturn]] void assertion_failed(const char* expression, const std::string& left,
                                   const std::string& right, const char* file, int line);
}  // namespace internal

}  // namespace cornu

// Checks an internal invariant. A violation is a bug in Cornu: throws Internal, with both operands.
#define CORNU_ASSERT(left, op, right)                                                              \
  do {                                                                                             \
    const auto& cornu_left = (left);                                                               \
    const auto& cornu_right = (right);                                                             \
    if (!(cornu_left op cornu_right)) [[unlikely]]                                                 \
      ::cornu::internal::assertion_failed(#left " " #op " " #right, fmt::format("{}", cornu_left), \
                                          fmt::format("{}", cornu_right), __FILE__, __LINE__);     \
  } while (false)

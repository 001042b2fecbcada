// SPDX-License-Identifier: Apache-2.0
#include "framework/core/error.h"

#include "framework/core/ascii.h"
#include "framework/core/error_place.h"

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

// A message may contain text from a file: very long ones are cut in the middle.
void cut(std::string& message) {
  constexpr size_t kMax = 8000;
  constexpr size_t kTail = 1000;
  if (message.size() > kMax) message.replace(kMax - kTail, message.size() - kMax, " … ");
}

// The name that the outermost guard of this thread gave; empty: there is none.
thread_local std::string_view place_name;

bool continues_a_name(char c) { return ascii::is_alnum(c) || c == '_'; }

bool begins_with_name(std::string_view message, std::string_view name) {
  return message.starts_with(name) &&
         (name.size() == message.size() || !continues_a_name(message[name.size()]));
}

// Whether it names the op: at its beginning, or after a layer that the op became.
bool names_op(std::string_view message, std::string_view name) {
  return begins_with_name(message, name) ||
         message.find(fmt::format(": {}: ", name)) != std::string_view::npos;
}

void put_before(std::string& message, std::string_view where) {
  message.insert(0, std::string(where) + ": ");
}

}  // namespace

ErrorPlace::ErrorPlace(std::string_view name) : outermost_(place_name.empty()) {
  if (outermost_) place_name = name;
}

ErrorPlace::~ErrorPlace() {
  if (outermost_) place_name = {};
}

Error::Error(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {
  if (!place_name.empty() && !names_op(message_, place_name)) put_before(message_, place_name);
  cut(message_);
}

void Error::add_place(const std::string& where) {
  if (placed_) return;
  placed_ = true;
  if (!where.empty() && !begins_with_name(message_, where)) put_before(message_, where);
  cut(message_);
}

namespace {

template <class Kind>
std::exception_ptr made(Kind error, bool placed) {
  if (placed) error.add_place("");
  return std::make_exception_ptr(std::move(error));
}

template <class... Kinds>
std::exception_ptr first_of(StatusCode code, const std::string& text, bool placed) {
  std::exception_ptr error;
  const auto add = [&]<class Kind>(Kind one) {
    if (!error && one.code() == code) error = made(std::move(one), placed);
  };
  (add(Kinds(text)), ...);
  return error ? error : made(Internal(text), placed);
}

std::exception_ptr of_kind(StatusCode code, const std::string& text, bool placed) {
  return first_of<InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, ResourceExhausted,
                  FailedPrecondition, Aborted, OutOfRange, Unimplemented, Unavailable, DataLoss>(
      code, text, placed);
}

}  // namespace

std::exception_ptr Error::with_text(const std::string& text) const {
  if (dynamic_cast<const NotTraceable*>(this)) return made(NotTraceable(text), placed_);
  if (const auto* interrupted = dynamic_cast<const Interrupted*>(this)) {
    return made(Interrupted(interrupted->signal(), text), placed_);
  }
  return of_kind(code_, text, placed_);
}

StatusCode code_of(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known ? known->code() : StatusCode::Internal;
}

std::exception_ptr error_of(StatusCode code, const std::string& text) {
  return of_kind(code, text, false);
}

PeerLost::PeerLost(int rank, std::string address, int64_t step)
    : Unavailable(fmt::format(
          "Lost rank {} at {} in step {}: it stopped responding. Restart it to continue the job.",
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

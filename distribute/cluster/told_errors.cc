// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/told_errors.h"

#include <utility>

namespace cornu::distribute {
namespace {

template <class... Kinds>
std::exception_ptr first_of(StatusCode code, const std::string& text) {
  std::exception_ptr error;
  const auto add = [&]<class Kind>(Kind made) {
    if (!error && made.code() == code) error = std::make_exception_ptr(std::move(made));
  };
  (add(Kinds(text)), ...);
  return error ? error : std::make_exception_ptr(Internal(text));
}

}  // namespace

StatusCode code_of(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known ? known->code() : StatusCode::Internal;
}

std::exception_ptr error_of(StatusCode code, const std::string& text) {
  return first_of<InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, ResourceExhausted,
                  FailedPrecondition, Aborted, OutOfRange, Unimplemented, Unavailable, DataLoss>(
      code, text);
}

}  // namespace cornu::distribute

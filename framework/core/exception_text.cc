// SPDX-License-Identifier: Apache-2.0
#include "framework/core/exception_text.h"

#include <typeinfo>

#include "framework/core/error.h"

namespace cornu {
namespace {

template <class... Kinds>
void throw_if_any(const Error& error) {
  const auto throw_if = [&]<class Kind>(const Kind* one) {
    if (typeid(error) == typeid(Kind)) throw Kind(*one);
  };
  (throw_if(dynamic_cast<const Kinds*>(&error)), ...);
}

}  // namespace

void rethrow_copy(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& thrown) {
    throw_if_any<InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists, ResourceExhausted,
                 FailedPrecondition, Aborted, OutOfRange, Unimplemented, Internal, Unavailable,
                 DataLoss, NotTraceable, Interrupted, PeerLost>(thrown);
    throw;
  }
}

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/group_members.h"

#include <utility>

#include "framework/core/error.h"
#include "framework/core/exception_text.h"

namespace cornu::distribute {

std::exception_ptr GroupMembers::lost(int peer) const {
  return std::make_exception_ptr(PeerLost(peer, addresses[static_cast<size_t>(peer)], *step));
}

std::exception_ptr GroupMembers::waited_too_long(int to, int from) const {
  const int peer = from != Transport::kNobody ? from : to;
  return std::make_exception_ptr(DeadlineExceeded(fmt::format(
      "Collective: worker {} waited {:g} s for worker {} ({}), which lives but doesn't come. It "
      "may be held up, or do something else than this worker. CommunicationOptions' "
      "timeout_seconds says how long to wait.",
      rank, std::chrono::duration<double>(timeout).count(), peer,
      addresses[static_cast<size_t>(peer)])));
}

bool GroupEnd::set(std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (why_) return false;
  why_ = std::move(why);
  is_set_ = true;
  return true;
}

void GroupEnd::rethrow_if_set() const {
  if (!is_set_) return;
  const std::lock_guard lock(mutex_);
  rethrow_copy(why_);
}

void GroupEnd::raise(std::exception_ptr why) {
  set(std::move(why));
  const std::lock_guard lock(mutex_);
  rethrow_copy(why_);
}

}  // namespace cornu::distribute

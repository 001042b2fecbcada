// SPDX-License-Identifier: Apache-2.0
// Streams of bytes between the processes of one machine, in memory that they share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distribute/collectives/group_members.h"
#include "distribute/collectives/shared_block.h"
#include "distribute/collectives/transport.h"
#include "framework/core/json.h"

namespace cornu::distribute {

// What a rank receives from its peers: a ring of bytes for each of them, and a bell that says that
// something has changed.
class Inbox {
 public:
  // For a group of `size`, with rings for these senders. ResourceExhausted where there is no
  // memory.
  static std::shared_ptr<Inbox> create(int size, const std::vector<int>& senders);
  // The one that another process of this machine has described. None where it can't be reached: on
  // another machine, in another container, of another user.
  static std::shared_ptr<Inbox> open(const Json& description);

  // What open() needs, for processes that this one trusts.
  Json description() const;

  struct Bell;
  struct Ring;
  Bell& bell() const;
  Ring* ring(int sender) const;  // null for ranks that don't send
  std::byte* data(int sender) const;

 private:
  explicit Inbox(std::shared_ptr<SharedBlock> block) : block_(std::move(block)) {}

  std::shared_ptr<SharedBlock> block_;
};

// Inboxes by rank; none where two ranks exchange nothing.
std::unique_ptr<Transport> make_shared_memory_transport(
    GroupMembers members, std::vector<std::shared_ptr<Inbox>> inboxes);

}  // namespace cornu::distribute

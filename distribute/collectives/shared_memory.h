// SPDX-License-Identifier: Apache-2.0
// Byte streams between the processes of a machine, in shared memory.
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

// What a rank receives from its peers: a ring buffer for each of them, and a bell that signals
// changes.
class Inbox {
 public:
  // Creates the inbox for a group of `size` ranks, with ring buffers for these senders. Throws
  // ResourceExhausted when there is no memory.
  static std::shared_ptr<Inbox> create(int size, const std::vector<int>& senders);
  // Opens an inbox described by another process on this machine. Returns null when it can't be
  // reached: it is on another machine, in another container, or belongs to another user.
  static std::shared_ptr<Inbox> open(const Json& description);

  // What open() needs; only give it to trusted processes.
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

// Inboxes by rank; null for ranks that this one exchanges nothing with.
std::unique_ptr<Transport> make_shared_memory_transport(
    GroupMembers members, std::vector<std::shared_ptr<Inbox>> inboxes);

}  // namespace cornu::distribute

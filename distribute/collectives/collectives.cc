// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/collectives.h"

#include <utility>

#include "distribute/collectives/ring.h"
#include "framework/core/error.h"

namespace cornu::distribute {

Registry<Communication>& communication_registry() {
  static Registry<Communication> registry("communication implementation");
  return registry;
}

void register_communication(const std::string& name, Communication communication) {
  check<InvalidArgument>(communication.make && communication.peers,
                         "register_communication: '{}' needs both functions, make and peers.",
                         name);
  communication_registry().add(name, std::move(communication));
}

Communication ring_communication() {
  return {.make =
              [](Transport& transport, const CollectivesOptions& options) {
                return std::make_unique<RingCollectives>(transport, options);
              },
          .peers = RingCollectives::peers};
}

}  // namespace cornu::distribute

// SPDX-License-Identifier: Apache-2.0
// A transport over connected sockets.
#pragma once

#include <memory>
#include <vector>

#include "distribute/collectives/group_members.h"
#include "distribute/collectives/transport.h"
#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

// Takes a connected stream socket for each rank, or a closed one for ranks that this one exchanges
// nothing with.
std::unique_ptr<Transport> make_socket_transport(GroupMembers members,
                                                 std::vector<FileDescriptor> sockets);

}  // namespace cornu::distribute

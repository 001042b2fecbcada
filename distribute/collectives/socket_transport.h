// SPDX-License-Identifier: Apache-2.0
// A transport over connected sockets.
#pragma once

#include <memory>
#include <vector>

#include "distribute/collectives/group_members.h"
#include "distribute/collectives/transport.h"
#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

// By rank: a connected stream socket, or none where two ranks exchange nothing.
std::unique_ptr<Transport> make_socket_transport(GroupMembers members,
                                                 std::vector<FileDescriptor> sockets);

}  // namespace cornu::distribute

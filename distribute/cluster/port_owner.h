// SPDX-License-Identifier: Apache-2.0
// Finds the process that listens on a port of this machine.
#pragma once

#include <filesystem>
#include <string>

namespace cornu::distribute {

// Returns "process 123 (./program --option)", or "" when the system doesn't tell: only the
// superuser can see other users' processes. `proc` is the process directory.
std::string port_owner(int port, const std::filesystem::path& proc = "/proc");

}  // namespace cornu::distribute

// SPDX-License-Identifier: Apache-2.0
// Who listens on a port of this machine.
#pragma once

#include <filesystem>
#include <string>

namespace cornu::distribute {

// "process 123 (./program --option)"; "" where the system doesn't tell: another user's process is
// seen by the superuser alone. `proc` is the folder of processes.
std::string port_owner(int port, const std::filesystem::path& proc = "/proc");

}  // namespace cornu::distribute

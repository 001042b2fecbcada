// SPDX-License-Identifier: Apache-2.0
// How callers prove that they know a job's token.
#pragma once

#include <fmt/core.h>

#include <string>

#include "distribute/cluster/credentials.h"

namespace cornu::distribute {

inline constexpr char kCallPath[] = "/cornu.Tasks/";
inline constexpr char kHello[] = "/cornu.Tasks/hello";

// Metadata keys of calls. A hello carries the caller's nonce and is answered with the session (the
// two nonces and the server's signature of them, which proves that the server made the second one).
inline constexpr char kNonce[] = "cornu-nonce";
inline constexpr char kSession[] = "cornu-session";
inline constexpr char kNumber[] = "cornu-number";
inline constexpr char kProof[] = "cornu-proof";

inline std::string server_proof(const std::string& token, const std::string& session) {
  return signature(token, "calls server " + session);
}
inline std::string session_key(const std::string& token, const std::string& session) {
  return signature(token, "calls key " + session);
}
// Proof for one call; each number is used only once.
inline std::string call_proof(const std::string& key, const std::string& number,
                              const std::string& path) {
  return signature(key, fmt::format("{} {}", number, path));
}

}  // namespace cornu::distribute

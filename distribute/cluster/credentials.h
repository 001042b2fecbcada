// SPDX-License-Identifier: Apache-2.0
// Credentials by which the tasks of a job recognize each other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cornu::distribute {

// The secret shared by a job's tasks: CORNU_JOB_TOKEN, or the contents of the file named by
// CORNU_JOB_TOKEN_FILE without trailing whitespace; empty if neither is set. It is never sent.
// Throws InvalidArgument for an unreadable file or a token shorter than 16 characters.
std::string job_token();

// HMAC-SHA256 as hexadecimal digits.
std::string signature(std::string_view key, std::string_view text);
// Constant-time comparison of two signatures.
bool same_signature(std::string_view a, std::string_view b);
// Returns 128 random bits as hexadecimal digits.
std::string random_hex();

// Throws FailedPrecondition if one of the addresses isn't on this machine and neither a token nor
// an identity keeps strangers out. With `insecure`, logs a warning instead.
void require_trust(const std::vector<std::string>& addresses, const std::string& token,
                   bool has_identity, bool insecure);
// Whether CORNU_INSECURE=1 is set.
bool is_insecure();

}  // namespace cornu::distribute

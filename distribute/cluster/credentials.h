// SPDX-License-Identifier: Apache-2.0
// What tasks of one job know each other by.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cornu::distribute {

// The key that a job's tasks share: CORNU_JOB_TOKEN, or the content of the file that
// CORNU_JOB_TOKEN_FILE names, without spaces at its end; empty where there is none. It is never
// sent. InvalidArgument for a file that can't be read, or a token of less than 16 characters.
std::string job_token();

// HMAC-SHA256 as hexadecimal digits.
std::string signature(std::string_view key, std::string_view text);
// Whether two signatures are equal, in a time that doesn't tell where they differ.
bool same_signature(std::string_view a, std::string_view b);
// 128 random bits as hexadecimal digits.
std::string random_hex();

// FailedPrecondition where one of the addresses isn't this machine's own, and neither a token nor
// an identity keeps strangers from taking part; where the program says that it is `insecure`, a
// warning.
void require_trust(const std::vector<std::string>& addresses, const std::string& token,
                   bool has_identity, bool insecure);
// Whether CORNU_INSECURE=1 says so.
bool is_insecure();

}  // namespace cornu::distribute

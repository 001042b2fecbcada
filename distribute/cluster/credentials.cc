// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/credentials.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "distribute/cluster/address.h"
#include "framework/core/error.h"
#include "framework/core/hex.h"
#include "framework/core/logging.h"

namespace cornu::distribute {
std::string job_token() {
  std::string token;
  const char* where = "CORNU_JOB_TOKEN";
  if (const char* given = std::getenv(where)) {
    token = given;
  } else if (const char* path = std::getenv("CORNU_JOB_TOKEN_FILE")) {
    where = "CORNU_JOB_TOKEN_FILE";
    std::ifstream file(path);
    check<InvalidArgument>(file.is_open(),
                           "CORNU_JOB_TOKEN_FILE: '{}' can't be read. It must be a file with the "
                           "token of the job, the same for all tasks.",
                           path);
    std::ostringstream text;
    text << file.rdbuf();
    token = text.str();
  } else {
    return "";
  }
  while (!token.empty() && std::string_view(" \t\r\n").find(token.back()) != std::string::npos) {
    token.pop_back();
  }
  check<InvalidArgument>(token.size() >= 16,
                         "{}: expected a token of at least 16 characters, got {}. Make one with: "
                         "openssl rand -hex 32",
                         where, token.size());
  return token;
}

std::string signature(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  const auto* made = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                            digest.data(), &size);
  check<Internal>(made != nullptr, "Cluster: libcrypto computes no HMAC.");
  return to_hex(std::as_bytes(std::span(digest).first(size)));
}

bool same_signature(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_hex() {
  std::array<unsigned char, 16> bytes;
  const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
  CORNU_ASSERT(count, ==, static_cast<ssize_t>(bytes.size()));
  return to_hex(std::as_bytes(std::span(bytes)));
}

void require_trust(const std::vector<std::string>& addresses, const std::string& token,
                   bool has_identity, bool insecure) {
  if (!token.empty() || has_identity) return;
  for (const std::string& address : addresses) {
    const bool is_loopback = Address::parse(address, "Cluster").is_loopback();
    if (!is_loopback && insecure) {
      logging::warn(fmt::format(
          "Cluster: the tasks at {} are reached over a network, without a token and without "
          "certificates: whoever reaches their ports can take part, and read and change what is "
          "trained (insecure = true, or CORNU_INSECURE=1).",
          address));
      return;
    }
    check<FailedPrecondition>(
        is_loopback,
        "Cluster: the tasks at {} are reached over a network, and nothing keeps others from "
        "taking part. Give all tasks of the job the same secret in CORNU_JOB_TOKEN, or in a file "
        "that CORNU_JOB_TOKEN_FILE names (make one with: openssl rand -hex 32), or certificates "
        "(CORNU_TLS_CERT, CORNU_TLS_KEY, CORNU_TLS_CA). On a network where "
        "everybody is trusted, insecure = true, or CORNU_INSECURE=1, does without.",
        address);
  }
}

bool is_insecure() {
  const char* insecure = std::getenv("CORNU_INSECURE");
  return insecure != nullptr && std::string_view(insecure) == "1";
}

}  // namespace cornu::distribute

// SPDX-License-Identifier: Apache-2.0
// Digests of files and memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace cornu {

enum class HashAlgorithm {
  Md5,  // for data sets that publish nothing better; guards against damage, not against malice
  Sha256,
};

// A digest of bytes that come piece by piece. OpenSSL's libcrypto computes it.
class Hasher {
 public:
  explicit Hasher(HashAlgorithm algorithm);

  void update(std::span<const std::byte> bytes);
  // The digest in lower-case hexadecimal digits. Ends the hasher.
  std::string hex_digest();

 private:
  std::shared_ptr<evp_md_ctx_st> context_;
};

std::string hash_of(std::span<const std::byte> bytes, HashAlgorithm algorithm);
// NotFound when the file can't be read.
std::string hash_of_file(const std::filesystem::path& path, HashAlgorithm algorithm);

}  // namespace cornu

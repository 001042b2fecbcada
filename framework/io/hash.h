// SPDX-License-Identifier: Apache-2.0
// Hashes of files and memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace cornu {

enum class HashAlgorithm {
  Md5,  // for data sets that publish nothing better; detects damage, not manipulation
  Sha256,
};

// Computes a hash incrementally, using OpenSSL's libcrypto.
class Hasher {
 public:
  explicit Hasher(HashAlgorithm algorithm);

  void update(std::span<const std::byte> bytes);
  // The hash in lowercase hexadecimal. Must be the last call.
  std::string hex_digest();

 private:
  std::shared_ptr<evp_md_ctx_st> context_;
};

std::string hash_of(std::span<const std::byte> bytes, HashAlgorithm algorithm);
// Throws NotFound when the file can't be read.
std::string hash_of_file(const std::filesystem::path& path, HashAlgorithm algorithm);

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/hash.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/hex.h"
#include "framework/io/file_reader.h"

namespace cornu {

Hasher::Hasher(HashAlgorithm algorithm) : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  const bool md5 = algorithm == HashAlgorithm::Md5;
  check<Unavailable>(
      EVP_DigestInit_ex(context_.get(), md5 ? EVP_md5() : EVP_sha256(), nullptr) == 1,
      "This system's libcrypto refuses to compute {}.", md5 ? "MD5" : "SHA-256");
}

void Hasher::update(std::span<const std::byte> bytes) {
  CORNU_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), ==, 1);
}

std::string Hasher::hex_digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  CORNU_ASSERT(EVP_DigestFinal_ex(context_.get(), digest.data(), &length), ==, 1);
  return to_hex(std::as_bytes(std::span(digest).first(length)));
}

std::string hash_of(std::span<const std::byte> bytes, HashAlgorithm algorithm) {
  Hasher hasher(algorithm);
  hasher.update(bytes);
  return hasher.hex_digest();
}

std::string hash_of_file(const std::filesystem::path& path, HashAlgorithm algorithm) {
  constexpr size_t kPiece = size_t{1} << 20;
  FileReader file(path);
  Hasher hasher(algorithm);
  std::vector<std::byte> piece(std::min(kPiece, file.size()));
  for (size_t left = file.size(); left > 0; left -= piece.size()) {
    piece.resize(std::min(piece.size(), left));
    file.read(piece);
    hasher.update(piece);
  }
  return hasher.hex_digest();
}

}  // namespace cornu

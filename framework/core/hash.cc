// SPDX-License-Identifier: Apache-2.0
#include "cornu/core/hash.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cornu/core/dynamic_library.h"
#include "cornu/core/error.h"
#include "cornu/core/file_reader.h"

namespace cornu {
namespace {

// The part of libcrypto's EVP interface that is used (stable in OpenSSL 1.1 and 3).
struct Crypto {
  DynamicLibrary library{
      {"libcrypto.so.3", "libcrypto.so.1.1"}, "Checking a file's hash", "libssl3"};
  void* (*make)() = library.function<void*()>("EVP_MD_CTX_new");
  void (*destroy)(void*) = library.function<void(void*)>("EVP_MD_CTX_free");
  const void* (*md5)() = library.function<const void*()>("EVP_md5");
  const void* (*sha256)() = library.function<const void*()>("EVP_sha256");
  int (*begin)(void*, const void*,
               void*) = library.function<int(void*, const void*, void*)>("EVP_DigestInit_ex");
  int (*update)(void*, const void*,
                size_t) = library.function<int(void*, const void*, size_t)>("EVP_DigestUpdate");
  int (*end)(void*, unsigned char*, unsigned*) =
      library.function<int(void*, unsigned char*, unsigned*)>("EVP_DigestFinal_ex");
};

const Crypto& crypto() {
  static const Crypto instance;
  return instance;
}

}  // namespace

Hasher::Hasher(HashAlgorithm algorithm) : context_(crypto().make(), crypto().destroy) {
  const bool md5 = algorithm == HashAlgorithm::Md5;
  const void* method = md5 ? crypto().md5() : crypto().sha256();
  check<Unavailable>(crypto().begin(context_.get(), method, nullptr) == 1,
                     "This system's libcrypto refuses to compute {}.", md5 ? "MD5" : "SHA-256");
}

void Hasher::update(std::span<const std::byte> bytes) {
  CORNU_ASSERT(crypto().update(context_.get(), bytes.data(), bytes.size()), ==, 1);
}

std::string Hasher::hex_digest() {
  std::array<unsigned char, 64> digest;
  unsigned length = 0;
  CORNU_ASSERT(crypto().end(context_.get(), digest.data(), &length), ==, 1);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
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

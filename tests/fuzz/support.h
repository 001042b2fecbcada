// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the fuzz targets. Each target's LLVMFuzzerTestOneInput passes its bytes to one
// parser.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "framework/core/error.h"

namespace cornu::fuzz {

// Bad input should throw an Error, unless the Error reports a bug in Cornu. Any other exception
// ends the fuzzer with the input that caused it.
template <class F>
int attempt(F&& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == StatusCode::Internal) {
      std::fprintf(stderr, "%s\n", error.what());
      std::abort();
    }
  }
  return 0;
}

// Reports a problem found by the target itself.
inline void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Returns the path of this process's in-memory file with this ending; writing it again replaces it.
inline std::string scratch_file(const std::string& ending) {
  const std::filesystem::path shm = "/dev/shm";
  const auto folder = exists(shm) ? shm : std::filesystem::temp_directory_path();
  return (folder / ("cornu-fuzz-" + std::to_string(getpid()) + ending)).string();
}

}  // namespace cornu::fuzz

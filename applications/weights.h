// SPDX-License-Identifier: Apache-2.0
// The initial weights of keras.applications models.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace cornu::applications {

// None ({}, nullptr, a null C string): random weights; the path of a file that load_weights
// accepts; or "imagenet".
class Weights {
 public:
  Weights() = default;
  Weights(std::nullptr_t) {}   // NOLINT: implicit on purpose
  Weights(std::nullopt_t) {}   // NOLINT
  Weights(const char* path) {  // NOLINT
    if (path) text_ = path;
  }
  Weights(std::string path) : text_(std::move(path)) {}                 // NOLINT
  Weights(const std::filesystem::path& path) : text_(path.string()) {}  // NOLINT
  Weights(const std::optional<std::string>& path) : text_(path) {}      // NOLINT

  bool given() const { return text_.has_value(); }
  bool imagenet() const { return text_ == "imagenet"; }
  const std::string& path() const { return *text_; }

 private:
  std::optional<std::string> text_;
};

}  // namespace cornu::applications

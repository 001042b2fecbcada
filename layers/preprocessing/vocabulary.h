// SPDX-License-Identifier: Apache-2.0
// A vocabulary as an option: a list of tokens, or a file with one token per line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::layers {

// `.vocabulary = {"cat", "dog"}`, `.vocabulary = "words.txt"`; empty: None. Token is std::string or
// int64_t.
template <class Token>
class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)), given_(true) {}  // NOLINT
  Vocabulary(std::initializer_list<Token> tokens) : tokens_(tokens), given_(true) {}
  Vocabulary(const Tensor& tokens)  // NOLINT: implicit on purpose
      : tokens_(tokens.to_vector<Token>()), given_(true) {}
  // The path of a UTF-8 text file, which is read when the layer is created.
  Vocabulary(const char* path) : path_(path ? path : ""), given_(path) {}  // NOLINT
  Vocabulary(std::string path) : path_(std::move(path)), given_(true) {}   // NOLINT

  bool given() const { return given_; }
  // True for a list, false for a file.
  bool is_list() const { return given_ && path_.empty(); }
  const std::vector<Token>& tokens() const { return tokens_; }
  const std::string& path() const { return path_; }

 private:
  std::vector<Token> tokens_;
  std::string path_;
  bool given_ = false;
};

}  // namespace cornu::layers

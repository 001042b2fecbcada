// SPDX-License-Identifier: Apache-2.0
// How the tensors of a dataset's elements are nested.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cornu::data {

// A tensor, a tuple of structures, or a dictionary of them, to any depth: tf.data's nested
// structures. Tensors are numbered from left to right, in the order in which they are given
// (dictionaries keep theirs).
class Structure {
 public:
  enum class Kind { Tensor, Tuple, Dict };

  Structure() = default;  // a single tensor
  // A child that is a tuple of one is what that consists of.
  static Structure tuple(std::vector<Structure> children);
  // What has these components: a tuple, or the only one where that is no tuple itself.
  static Structure of_components(std::vector<Structure> components);
  // InvalidArgument for a name that comes twice.
  static Structure dict(std::vector<std::pair<std::string, Structure>> children);

  Kind kind() const { return kind_; }
  const std::vector<Structure>& children() const { return children_; }
  const std::vector<std::string>& names() const { return names_; }  // of a dictionary's children
  size_t num_tensors() const { return num_tensors_; }

  // What a tuple consists of; a tensor and a dictionary are one component, themselves.
  size_t num_components() const { return kind_ == Kind::Tuple ? children_.size() : 1; }
  const Structure& component(size_t index) const {
    return kind_ == Kind::Tuple ? children_[index] : *this;
  }
  // Where the tensors of a component begin.
  size_t offset(size_t component) const;

  // The names of the tensors: those of dictionaries on the way to each, joined by '/'. Empty where
  // a tensor is in no dictionary.
  std::vector<std::string> tensor_names() const;

  // The same around a structure in place of each tensor.
  using LeafStructure = std::function<Structure(size_t tensor)>;
  Structure with_leaves(const LeafStructure& leaf) const { return with_leaves(leaf, 0); }

  // With what `leaf` says of each tensor: "({image: …, hint: …}, …)".
  std::string to_string(const std::function<std::string(size_t tensor)>& leaf) const;

  friend bool operator==(const Structure&, const Structure&) = default;

 private:
  Structure(Kind kind, std::vector<Structure> children, std::vector<std::string> names);
  Structure with_leaves(const LeafStructure& leaf, size_t first) const;

  Kind kind_ = Kind::Tensor;
  std::vector<Structure> children_;
  std::vector<std::string> names_;
  size_t num_tensors_ = 1;
};

}  // namespace cornu::data

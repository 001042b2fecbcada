// SPDX-License-Identifier: Apache-2.0
// How the tensors of a dataset's elements are nested.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cornu::data {

// A tensor, a tuple of structures, or a dictionary of structures, nested to any depth: tf.data's
// nested structures. Tensors are numbered from left to right, in the order in which they are given
// (dictionaries keep their order).
class Structure {
 public:
  enum class Kind { Tensor, Tuple, Dict };

  Structure() = default;  // a single tensor
  // A child that is a tuple of one member is replaced by that member.
  static Structure tuple(std::vector<Structure> children);
  // The structure with these components: a tuple, or the only component if that isn't a tuple
  // itself.
  static Structure of_components(std::vector<Structure> components);
  // Throws InvalidArgument for duplicate names.
  static Structure dict(std::vector<std::pair<std::string, Structure>> children);

  Kind kind() const { return kind_; }
  const std::vector<Structure>& children() const { return children_; }
  const std::vector<std::string>& names() const { return names_; }  // of a dictionary's children
  size_t num_tensors() const { return num_tensors_; }

  // The members of a tuple; a tensor or a dictionary is a single component, itself.
  size_t num_components() const { return kind_ == Kind::Tuple ? children_.size() : 1; }
  const Structure& component(size_t index) const {
    return kind_ == Kind::Tuple ? children_[index] : *this;
  }
  // The index of the first tensor of a component.
  size_t offset(size_t component) const;

  // The names of the tensors: the dictionary keys on the path to each, joined by '/'. Empty if some
  // tensor isn't in a dictionary.
  std::vector<std::string> tensor_names() const;

  // Replaces each tensor by a structure.
  using LeafStructure = std::function<Structure(size_t tensor)>;
  Structure with_leaves(const LeafStructure& leaf) const { return with_leaves(leaf, 0); }

  // The structure as text, with `leaf(i)` for each tensor: "({image: …, hint: …}, …)".
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

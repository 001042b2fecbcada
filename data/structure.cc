// SPDX-License-Identifier: Apache-2.0
#include "data/structure.h"

#include <algorithm>
#include <optional>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

// Appends the names of a structure's tensors that are in a dictionary; `path` is none outside of
// dictionaries.
void collect_names(const Structure& structure, const std::optional<std::string>& path,
                   std::vector<std::string>& names) {
  if (structure.kind() == Structure::Kind::Tensor && path) names.push_back(*path);
  for (size_t i = 0; i < structure.children().size(); ++i) {
    std::optional<std::string> below = path;
    if (structure.kind() == Structure::Kind::Dict) {
      below = (path ? *path + "/" : "") + structure.names()[i];
    }
    collect_names(structure.children()[i], below, names);
  }
}

std::string text_of(const Structure& structure, size_t first,
                    const std::function<std::string(size_t)>& leaf) {
  if (structure.kind() == Structure::Kind::Tensor) return leaf(first);
  std::vector<std::string> parts;
  for (size_t i = 0; i < structure.children().size(); ++i) {
    const Structure& child = structure.children()[i];
    parts.push_back(structure.names().empty() ? "" : structure.names()[i] + ": ");
    parts.back() += text_of(child, first, leaf);
    first += child.num_tensors();
  }
  const std::string joined = join(parts, ", ");
  if (structure.kind() == Structure::Kind::Dict) return "{" + joined + "}";
  return "(" + joined + (parts.size() == 1 ? ",)" : ")");
}

}  // namespace

Structure::Structure(Kind kind, std::vector<Structure> children, std::vector<std::string> names)
    : kind_(kind), children_(std::move(children)), names_(std::move(names)), num_tensors_(0) {
  for (Structure& child : children_) {
    if (child.kind_ == Kind::Tuple && child.children_.size() == 1) {
      child = Structure(child.children_.front());
    }
    num_tensors_ += child.num_tensors_;
  }
}

Structure Structure::tuple(std::vector<Structure> children) {
  return Structure(Kind::Tuple, std::move(children), {});
}

Structure Structure::of_components(std::vector<Structure> components) {
  const bool single = components.size() == 1 && components.front().kind_ != Kind::Tuple;
  return single ? std::move(components.front()) : tuple(std::move(components));
}

Structure Structure::dict(std::vector<std::pair<std::string, Structure>> children) {
  std::vector<Structure> structures;
  std::vector<std::string> names;
  for (auto& [name, child] : children) {
    check<InvalidArgument>(std::find(names.begin(), names.end(), name) == names.end(),
                           "Element: the name '{}' comes twice.", name);
    names.push_back(std::move(name));
    structures.push_back(std::move(child));
  }
  return Structure(Kind::Dict, std::move(structures), std::move(names));
}

Structure Structure::with_leaves(const LeafStructure& leaf, size_t first) const {
  if (kind_ == Kind::Tensor) return leaf(first);
  std::vector<Structure> children;
  for (const Structure& child : children_) {
    children.push_back(child.with_leaves(leaf, first));
    first += child.num_tensors_;
  }
  return Structure(kind_, std::move(children), names_);
}

size_t Structure::offset(size_t component) const {
  size_t sum = 0;
  for (size_t i = 0; i < component; ++i) sum += this->component(i).num_tensors();
  return sum;
}

std::vector<std::string> Structure::tensor_names() const {
  std::vector<std::string> names;
  collect_names(*this, {}, names);
  if (names.size() < num_tensors_) names.clear();
  return names;
}

std::string Structure::to_string(const std::function<std::string(size_t)>& leaf) const {
  return text_of(*this, 0, leaf);
}

}  // namespace cornu::data

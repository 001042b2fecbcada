// SPDX-License-Identifier: Apache-2.0
#include "data/element.h"

#include <fmt/format.h>

#include <algorithm>

#include "framework/core/strings.h"

namespace cornu::data {
namespace {

Structure structure_of(const Tensors& tensors) {
  if (tensors.has_names()) {
    std::vector<std::pair<std::string, Structure>> members;
    for (const std::string& name : tensors.names()) members.emplace_back(name, Structure());
    return Structure::dict(std::move(members));
  }
  return Structure::of_components(std::vector<Structure>(tensors.size()));
}

// Whether `type` conforms to `wanted`, whose axes may be unknown.
bool fits(const TensorType& type, const TensorType& wanted) {
  if (type.dtype != wanted.dtype || type.shape.rank() != wanted.shape.rank()) return false;
  for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
    if (wanted.shape[axis] != kUnknown && wanted.shape[axis] != type.shape[axis]) return false;
  }
  return true;
}

// Appends a part's tensors, and returns its structure.
const Structure& append(std::vector<Tensor>& tensors, const Element& part) {
  check<InvalidArgument>(part.structure() != nullptr,
                         "Element: expected components of tensors, got one of none.");
  tensors.insert(tensors.end(), part.tensors().begin(), part.tensors().end());
  return *part.structure();
}

}  // namespace

Element::Element(const Tensors& component) : Element(std::vector<Tensors>{component}) {}
Element::Element(std::initializer_list<Tensors> components)
    : Element(std::vector<Tensors>(components)) {}
Element::Element(std::initializer_list<Tensors::Named> component)
    : Element(Tensors::named(std::vector<Tensors::Named>(component))) {}

Element::Element(const std::vector<Tensors>& components) {
  std::vector<Structure> parts;
  for (const Tensors& component : components) {
    check<InvalidArgument>(!component.empty(),
                           "Element: expected tensors in component {}, got none.", parts.size());
    parts.push_back(structure_of(component));
    tensors_.insert(tensors_.end(), component.begin(), component.end());
  }
  structure_ = std::make_shared<const Structure>(Structure::of_components(std::move(parts)));
}

Element::Element(std::vector<Tensor> tensors, std::shared_ptr<const Structure> structure)
    : tensors_(std::move(tensors)), structure_(std::move(structure)) {
  CORNU_ASSERT(tensors_.size(), ==, structure_->num_tensors());
}

Element Element::tuple(const std::vector<Element>& components) {
  std::vector<Tensor> tensors;
  std::vector<Structure> parts;
  for (const Element& component : components) parts.push_back(append(tensors, component));
  return Element(std::move(tensors),
                 std::make_shared<const Structure>(Structure::of_components(std::move(parts))));
}

Element Element::dict(const std::vector<std::pair<std::string, Element>>& members) {
  std::vector<Tensor> tensors;
  std::vector<std::pair<std::string, Structure>> parts;
  for (const auto& [name, member] : members) parts.emplace_back(name, append(tensors, member));
  return Element(std::move(tensors),
                 std::make_shared<const Structure>(Structure::dict(std::move(parts))));
}

Element Element::with(std::vector<Tensor> tensors) const {
  return Element(std::move(tensors), structure_);
}

Element Element::part(const Structure& structure, size_t first) const {
  const auto begin = tensors_.begin() + static_cast<std::ptrdiff_t>(first);
  return Element({begin, begin + static_cast<std::ptrdiff_t>(structure.num_tensors())},
                 std::make_shared<const Structure>(structure));
}

Element Element::component(size_t index) const {
  check<OutOfRange>(index < size(), "Element: expected an index below {}, got {}.", size(), index);
  return part(structure_->component(index), structure_->offset(index));
}

Element Element::component(std::string_view name) const {
  const std::vector<std::string> none;
  const auto& names = structure_ ? structure_->names() : none;
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) {
    raise<NotFound>("Element: there is no member '{}'; the names are: {}.", name,
                    names.empty() ? "none, as it is no dictionary" : join(names, ", "));
  }
  size_t first = 0;
  auto child = structure_->children().begin();
  for (auto other = names.begin(); other != at; ++other) first += (child++)->num_tensors();
  return part(*child, first);
}

Tensors Element::flat() const {
  if (!structure_) return {};
  std::vector<std::string> names = structure_->tensor_names();
  if (names.empty()) return Tensors(tensors_);
  std::vector<Tensors::Named> result;
  for (size_t i = 0; i < names.size(); ++i) result.emplace_back(std::move(names[i]), tensors_[i]);
  return Tensors::named(std::move(result));
}

const Tensor& Element::tensor(size_t index) const {
  check<OutOfRange>(index < size(), "Element: expected an index below {}, got {}.", size(), index);
  const size_t count = structure_->component(index).num_tensors();
  check<InvalidArgument>(count == 1,
                         "Element: component {} has {} tensors. Use element[{}] for all of them.",
                         index, count, index);
  return tensors_[structure_->offset(index)];
}

std::string ElementSpec::to_string() const {
  if (!structure) return "none";
  return structure->to_string(
      [&](size_t i) { return fmt::format("{} {}", types[i].dtype, types[i].shape); });
}

bool ElementSpec::admits(const ElementSpec& other) const {
  if (!other.structure || *other.structure != *structure) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!fits(other.types[i], types[i])) return false;
  }
  return true;
}

bool ElementSpec::admits(const Element& element) const { return admits(spec_of(element)); }

bool operator==(const ElementSpec& a, const ElementSpec& b) {
  return a.types == b.types && *a.structure == *b.structure;
}

ElementSpec spec_of(const Element& element) {
  ElementSpec spec;
  for (const Tensor& tensor : element.tensors()) spec.types.push_back(type_of(tensor));
  spec.structure = element.structure();
  return spec;
}

void require_components(const Element& element, size_t arguments) {
  const size_t components = element.size();
  if (components == arguments) return;
  const auto counted = [](size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const bool is_one_of_all = components == 1 && element.tensors().size() == arguments;
  raise<InvalidArgument>(
      "the function takes {}, but the elements have {}: {}.{}", counted(arguments, "argument"),
      counted(components, "component"), spec_of(element).to_string(),
      is_one_of_all ? " Take it as one const Tensors&; or, where a function gave these tensors as "
                      "one Tensors, have it return their list() in place of that."
                    : "");
}

ElementSpec as_signature(const ElementSpec& spec) {
  if (spec.structure) return spec;
  return {spec.types, std::make_shared<const Structure>(
                          Structure::of_components(std::vector<Structure>(spec.types.size())))};
}

ElementSpec with_unknown_axes(ElementSpec spec) {
  for (TensorType& type : spec.types) {
    for (int64_t axis = 0; axis < type.shape.rank(); ++axis) type.shape[axis] = kUnknown;
  }
  return spec;
}

ElementSpec tuple_of(const std::vector<ElementSpec>& components) {
  ElementSpec result;
  std::vector<Structure> parts;
  for (const ElementSpec& component : components) {
    result.types.insert(result.types.end(), component.types.begin(), component.types.end());
    parts.push_back(*component.structure);
  }
  result.structure = std::make_shared<const Structure>(Structure::of_components(std::move(parts)));
  return result;
}

}  // namespace cornu::data

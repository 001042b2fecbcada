// SPDX-License-Identifier: Apache-2.0
#include "data/element.h"

#include <numeric>

#include "framework/core/strings.h"

namespace cornu::data {
namespace {

size_t tensors_of(const Structure& structure) {
  return std::accumulate(structure.components.begin(), structure.components.end(), size_t{0},
                         [](size_t sum, const auto& component) { return sum + component.size; });
}

// Where the tensors of component `index` begin.
size_t offset_of(const Structure& structure, size_t index) {
  size_t offset = 0;
  for (size_t i = 0; i < index; ++i) offset += structure.components[i].size;
  return offset;
}

}  // namespace

Element::Element(const Tensors& component) : Element(std::vector<Tensors>{component}) {}
Element::Element(std::initializer_list<Tensors> components)
    : Element(std::vector<Tensors>(components)) {}
Element::Element(std::initializer_list<Tensors::Named> component)
    : Element(Tensors::named(std::vector<Tensors::Named>(component))) {}

Element::Element(const std::vector<Tensors>& components) {
  auto structure = std::make_shared<Structure>();
  for (const Tensors& component : components) {
    check<InvalidArgument>(!component.empty(),
                           "Element: expected tensors in component {}, got none.",
                           structure->components.size());
    structure->components.push_back({component.size(), component.names()});
    tensors_.insert(tensors_.end(), component.begin(), component.end());
  }
  structure_ = std::move(structure);
}

Element::Element(std::vector<Tensor> tensors, std::shared_ptr<const Structure> structure)
    : tensors_(std::move(tensors)), structure_(std::move(structure)) {
  CORNU_ASSERT(tensors_.size(), ==, tensors_of(*structure_));
}

Element Element::with(std::vector<Tensor> tensors) const {
  return Element(std::move(tensors), structure_);
}

Tensors Element::operator[](size_t index) const {
  check<OutOfRange>(index < size(), "Element: expected an index below {}, got {}.", size(), index);
  const Structure::Component& component = structure_->components[index];
  const auto begin = tensors_.begin() + static_cast<std::ptrdiff_t>(offset_of(*structure_, index));
  std::vector<Tensor> part(begin, begin + static_cast<std::ptrdiff_t>(component.size));
  if (component.names.empty()) return Tensors(std::move(part));
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < part.size(); ++i) named.emplace_back(component.names[i], part[i]);
  return Tensors::named(std::move(named));
}

const Tensor& Element::tensor(size_t index) const {
  check<OutOfRange>(index < size(), "Element: expected an index below {}, got {}.", size(), index);
  const size_t count = structure_->components[index].size;
  check<InvalidArgument>(count == 1,
                         "Element: component {} has {} tensors. Use element[{}] for all of them.",
                         index, count, index);
  return tensors_[offset_of(*structure_, index)];
}

std::string ElementSpec::to_string() const {
  std::vector<std::string> components;
  size_t next = 0;
  for (const Structure::Component& component : structure->components) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < component.size; ++i, ++next) {
      std::string text = component.names.empty() ? "" : component.names[i] + ": ";
      parts.push_back(text + fmt::format("{} {}", types[next].dtype, types[next].shape));
    }
    const std::string joined = join(parts, ", ");
    if (!component.names.empty()) {
      components.push_back("{" + joined + "}");
    } else {
      components.push_back(component.size == 1 ? joined : "[" + joined + "]");
    }
  }
  return components.size() == 1 ? components.front() : "(" + join(components, ", ") + ")";
}

bool operator==(const ElementSpec& a, const ElementSpec& b) {
  return a.types == b.types && *a.structure == *b.structure;
}

ElementSpec spec_of(const Element& element) {
  ElementSpec spec;
  for (const Tensor& tensor : element.tensors()) spec.types.push_back(type_of(tensor));
  spec.structure = element.structure();
  return spec;
}

std::shared_ptr<const Structure> join_structures(const Structure& first, const Structure& second) {
  auto joined = std::make_shared<Structure>(first);
  joined->components.insert(joined->components.end(), second.components.begin(),
                            second.components.end());
  return joined;
}

}  // namespace cornu::data

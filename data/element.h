// SPDX-License-Identifier: Apache-2.0
// The elements of datasets, and their types.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "data/structure.h"
#include "framework/core/tensors.h"
#include "framework/graph/op.h"

namespace cornu::data {

// An element of a dataset: one or more components ((x, y), or (x, y, sample_weight)), each a tensor
// or a structure of tensors. Cheap to copy, immutable.
//
//   Element{x, y}                              a pair of tensors
//   Element{{{"image", a}, {"hint", b}}, y}    named inputs and a target
//   Element{{"image", a}, {"hint", b}}         named inputs alone
//   Element::tuple({Element{x, y}, weight})    any depth: ((x, y), weight)
//
// Elements of single tensors unpack: `for (const auto& [x, y] : dataset)`.
class Element {
 public:
  Element() = default;                                         // no components
  Element(const Tensor& tensor) : Element(Tensors(tensor)) {}  // NOLINT: implicit on purpose
  Element(const Tensors& component);                           // NOLINT
  Element(std::initializer_list<Tensors> components);          // NOLINT
  Element(std::initializer_list<Tensors::Named> component);    // NOLINT
  explicit Element(const std::vector<Tensors>& components);
  // `tensors` holds the tensors of all components in order. Throws Internal when their number
  // doesn't match the structure.
  Element(std::vector<Tensor> tensors, std::shared_ptr<const Structure> structure);
  // Throws InvalidArgument for members without tensors and for duplicate names.
  static Element tuple(const std::vector<Element>& components);
  static Element dict(const std::vector<std::pair<std::string, Element>>& members);

  // The number of components: the members of a tuple; 1 for a tensor or a dictionary.
  size_t size() const { return structure_ ? structure_->num_components() : 0; }
  // The tensors of component `index`, named by their paths ("box/left") when all are in
  // dictionaries. Throws OutOfRange when there is no such component.
  Tensors operator[](size_t index) const { return component(index).flat(); }
  // Overload for a dictionary's member. Throws NotFound, listing the existing names.
  Tensors operator[](std::string_view name) const { return component(name).flat(); }
  // A component or member as an element.
  Element component(size_t index) const;
  Element component(std::string_view name) const;
  // The only tensor of component `index`; for structured bindings of two components. Throws
  // InvalidArgument when the component (or, for structured bindings, the element) has another size.
  const Tensor& tensor(size_t index) const;

  // The only tensor, as for Tensors: `for (const Tensor x : dataset)` of a dataset of single
  // tensors. Throws InvalidArgument when there isn't exactly one.
  operator Tensor() const { return flat().single(); }  // NOLINT: implicit on purpose

  // The tensors of all components, in order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Moves the tensors out of an element that is no longer needed; its structure stays.
  std::vector<Tensor> take_tensors() && { return std::move(tensors_); }
  const std::shared_ptr<const Structure>& structure() const { return structure_; }
  // An element with the same structure and other tensors.
  Element with(std::vector<Tensor> tensors) const;

  template <size_t kIndex>
  const Tensor& get() const {
    check<InvalidArgument>(size() == 2,
                           "An element of {} components can't be unpacked as a pair. Use "
                           "element.tensor(index) or element[index].",
                           size());
    return tensor(kIndex);
  }

 private:
  // The part of `structure` whose tensors begin at `first`.
  Element part(const Structure& structure, size_t first) const;
  // All tensors, named by their paths if each has one.
  Tensors flat() const;

  std::vector<Tensor> tensors_;
  std::shared_ptr<const Structure> structure_;
};

// The types of a dataset's elements, with kUnknown for axes that vary (tf.data's element_spec).
struct ElementSpec {
  std::vector<TensorType> types;  // one per tensor
  std::shared_ptr<const Structure> structure;

  // "(float32 (28, 28), uint8 ())"; dictionaries as "{image: …, hint: …}"; "none" for an empty
  // element.
  std::string to_string() const;
  // Returns whether the element, or every element of the `other` spec, conforms to this spec. Axes
  // that are kUnknown here may have any size.
  bool admits(const Element& element) const;
  bool admits(const ElementSpec& other) const;
  friend bool operator==(const ElementSpec& a, const ElementSpec& b);
};

ElementSpec spec_of(const Element& element);

// Throws InvalidArgument unless the element has a component for each of a function's arguments.
void require_components(const Element& element, size_t arguments);

// Normalizes a user's output_signature: without a structure, each tensor is a component.
ElementSpec as_signature(const ElementSpec& spec);

// The same spec with the sizes of all axes unknown.
ElementSpec with_unknown_axes(ElementSpec spec);

// The spec of a tuple of elements.
ElementSpec tuple_of(const std::vector<ElementSpec>& components);

}  // namespace cornu::data

template <>
struct fmt::formatter<cornu::data::ElementSpec> : fmt::formatter<std::string_view> {
  auto format(const cornu::data::ElementSpec& spec, format_context& context) const {
    return fmt::formatter<std::string_view>::format(spec.to_string(), context);
  }
};

template <>
struct std::tuple_size<cornu::data::Element> : std::integral_constant<size_t, 2> {};
template <size_t kIndex>
struct std::tuple_element<kIndex, cornu::data::Element> {
  using type = const cornu::Tensor;
};

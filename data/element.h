// SPDX-License-Identifier: Apache-2.0
// What datasets are made of, and its description.
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

// One element of a dataset: one component or several ((x, y), or (x, y, sample_weight)), each a
// tensor, or a structure of tensors. Cheap to copy, immutable.
//
//   Element{x, y}                              a pair of tensors
//   Element{{{"image", a}, {"hint", b}}, y}    named inputs and a target
//   Element{{"image", a}, {"hint", b}}         named inputs alone
//   Element::tuple({Element{x, y}, weight})    any depth: ((x, y), weight)
//
// Elements of single tensors unpack: `for (const auto& [x, y] : dataset)`.
class Element {
 public:
  Element() = default;                                         // of no component
  Element(const Tensor& tensor) : Element(Tensors(tensor)) {}  // NOLINT: implicit on purpose
  Element(const Tensors& component);                           // NOLINT
  Element(std::initializer_list<Tensors> components);          // NOLINT
  Element(std::initializer_list<Tensors::Named> component);    // NOLINT
  explicit Element(const std::vector<Tensors>& components);
  // `tensors` of all components in order. Internal when their number isn't the structure's.
  Element(std::vector<Tensor> tensors, std::shared_ptr<const Structure> structure);
  // InvalidArgument for parts without tensors, and names that come twice.
  static Element tuple(const std::vector<Element>& components);
  static Element dict(const std::vector<std::pair<std::string, Element>>& members);

  // The number of components: of a tuple's members; 1 for a tensor or a dictionary.
  size_t size() const { return structure_ ? structure_->num_components() : 0; }
  // The tensors of component `index`, named by their paths ("box/left") where all are in
  // dictionaries. OutOfRange when there is none.
  Tensors operator[](size_t index) const { return component(index).flat(); }
  // The same of a dictionary's member. NotFound, with the names there are.
  Tensors operator[](std::string_view name) const { return component(name).flat(); }
  // A component or member as an element of its own.
  Element component(size_t index) const;
  Element component(std::string_view name) const;
  // The only tensor of component `index`; for structured bindings of two. InvalidArgument when the
  // component (or, for structured bindings, the element) is of another size.
  const Tensor& tensor(size_t index) const;

  // The tensors of all components, in order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Those of an element that is given up; its structure stays.
  std::vector<Tensor> take_tensors() && { return std::move(tensors_); }
  const std::shared_ptr<const Structure>& structure() const { return structure_; }
  // The same structure around other tensors.
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
  // All tensors, named by their paths where each has one.
  Tensors flat() const;

  std::vector<Tensor> tensors_;
  std::shared_ptr<const Structure> structure_;
};

// The types of a dataset's elements, kUnknown where axes vary (tf.data's element_spec).
struct ElementSpec {
  std::vector<TensorType> types;  // one for each tensor
  std::shared_ptr<const Structure> structure;

  // "(float32 (28, 28), uint8 ())"; dictionaries as "{image: …, hint: …}"; of no element "none".
  std::string to_string() const;
  // Is this an element, or are all of that kind, of this kind? Axes that are kUnknown here may be
  // anything.
  bool admits(const Element& element) const;
  bool admits(const ElementSpec& other) const;
  friend bool operator==(const ElementSpec& a, const ElementSpec& b);
};

ElementSpec spec_of(const Element& element);

// InvalidArgument unless the element has a component for each of a function's arguments.
void require_components(const Element& element, size_t arguments);

// A user's output_signature: without a structure, each tensor is a component of its own.
ElementSpec as_signature(const ElementSpec& spec);

// Of elements that are like this but for the sizes of their axes.
ElementSpec with_unknown_axes(ElementSpec spec);

// The types of a tuple of elements.
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

// SPDX-License-Identifier: Apache-2.0
// What datasets are made of, and its description.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/core/tensors.h"
#include "framework/graph/op.h"

namespace cornu::data {

// How the tensors of an element are grouped: into components ((x, y), or (x, y, sample_weight)),
// each a single tensor, a list, or named ones (several inputs of a model).
struct Structure {
  struct Component {
    size_t size = 1;
    std::vector<std::string> names;  // empty, or one for each tensor
    friend bool operator==(const Component&, const Component&) = default;
  };
  std::vector<Component> components;
  friend bool operator==(const Structure&, const Structure&) = default;
};

// One element of a dataset: one component or several. Cheap to copy, immutable.
//
//   Element{x, y}                              a pair of tensors
//   Element{{{"image", a}, {"hint", b}}, y}    named inputs and a target
//   Element{{"image", a}, {"hint", b}}         named inputs alone
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

  size_t size() const { return structure_ ? structure_->components.size() : 0; }
  // Component `index`. OutOfRange when there is none.
  Tensors operator[](size_t index) const;
  // The only tensor of component `index`; for structured bindings of two. InvalidArgument when the
  // component (or, for structured bindings, the element) is of another size.
  const Tensor& tensor(size_t index) const;

  // The tensors of all components, in order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
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
  std::vector<Tensor> tensors_;
  std::shared_ptr<const Structure> structure_;
};

// The types of a dataset's elements, kUnknown where axes vary (tf.data's element_spec).
struct ElementSpec {
  std::vector<TensorType> types;  // one for each tensor
  std::shared_ptr<const Structure> structure;

  // "(float32 (28, 28), uint8 ())"; named components as "{image: …, hint: …}".
  std::string to_string() const;
  friend bool operator==(const ElementSpec& a, const ElementSpec& b);
};

ElementSpec spec_of(const Element& element);

// The structure of components joined to one element.
std::shared_ptr<const Structure> join_structures(const Structure& first, const Structure& second);

}  // namespace cornu::data

template <>
struct std::tuple_size<cornu::data::Element> : std::integral_constant<size_t, 2> {};
template <size_t kIndex>
struct std::tuple_element<kIndex, cornu::data::Element> {
  using type = const cornu::Tensor;
};

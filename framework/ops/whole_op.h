// SPDX-License-Identifier: Apache-2.0
// Ops that need sizes which a placeholder doesn't have yet. A functional model keeps such an op as
// a single node, whose function is called on each run, when all sizes are known. Internal to
// framework/ops.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/graph/attributes.h"
#include "framework/ops/arguments.h"

namespace cornu::ops::internal {

// The form of an op in Keras's files: a class of keras.src.ops.<module>, constructed with `config`
// and called with the operands, in order.
struct KerasForm {
  std::string module;
  std::string class_name;
  Json config = Json::object();
};

// The attribute of an op with such a form: an entry of a Keras file, as text.
inline constexpr char kKerasForm[] = "keras_form";

// Whether a tensor is a functional model's placeholder, whose sizes may be unknown; whether one of
// several is.
bool is_model_placeholder(const Tensor& x);
bool any_placeholder(const std::vector<Tensor>& tensors);
// Whether it is a placeholder with an axis of unknown size; the second form checks a single axis
// (negative axes count from the end).
bool is_open(const Tensor& x);
bool is_open(const Tensor& x, int64_t axis);

using WholeFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
// Applies a function of tensors as a single op of a functional model, which calls it when it runs
// and when its shapes are inferred.
std::vector<Tensor> apply_whole(const char* name, const std::vector<Tensor>& inputs,
                                WholeFunction f);
// Overload for an op that Keras has: it is saved in this form, which must describe f completely.
std::vector<Tensor> apply_whole(const char* name, const std::vector<Tensor>& inputs,
                                const KerasForm& form, WholeFunction f);
// Overloads for functions that return one tensor.
Tensor whole_of(const char* name, const Tensor& x, const KerasForm& form,
                std::function<Tensor(const Tensor&)> f);
Tensor whole_of(const char* name, const std::vector<Tensor>& inputs, const KerasForm& form,
                std::function<Tensor(const std::vector<Tensor>&)> f);

// Returns f(inputs); as a single op of a functional model if a placeholder among the inputs has an
// axis of unknown size at index `first` or later.
Tensor as_whole(const char* name, const std::vector<Tensor>& inputs,
                const std::function<Tensor(const std::vector<Tensor>&)>& f, int64_t first = 0);

// Whether the padding around the spatial axes of x (batch, spatial…, channels) depends on unknown
// sizes.
bool has_open_padding(const Tensor& x, const Padding& padding, const std::vector<int64_t>& strides);

// Numbers as in Keras's configs: a single one by itself, several as a list.
Json one_or_list(const std::vector<int64_t>& numbers);

}  // namespace cornu::ops::internal

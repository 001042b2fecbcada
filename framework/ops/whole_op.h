// SPDX-License-Identifier: Apache-2.0
// Ops that need sizes which a placeholder doesn't have yet. A functional model keeps such an op
// whole, as one node: its function is called with each run, when all sizes are known. Internal to
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

// What Keras's files call an op: a class of keras.src.ops.<module>, made with `config`; it is
// called with the operands, in order.
struct KerasForm {
  std::string module;
  std::string class_name;
  Json config = Json::object();
};

// The attribute of an op that has such a form: an entry of a file, as text.
inline constexpr char kKerasForm[] = "keras_form";

// Whether it is a functional model's, whose sizes may be unknown; whether one of these is.
bool is_model_placeholder(const Tensor& x);
bool any_placeholder(const std::vector<Tensor>& tensors);
// Whether it is one with an axis whose size isn't known; the same of one axis (which may count from
// the end).
bool is_open(const Tensor& x);
bool is_open(const Tensor& x, int64_t axis);

using WholeFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
// A function of tensors as one op of a functional model, which calls it when it is run and when its
// shapes are inferred.
std::vector<Tensor> apply_whole(const char* name, const std::vector<Tensor>& inputs,
                                WholeFunction f);
// The same of one that Keras has: it is saved in this form, which must tell all that f does.
std::vector<Tensor> apply_whole(const char* name, const std::vector<Tensor>& inputs,
                                const KerasForm& form, WholeFunction f);
// Of functions that give one tensor.
Tensor whole_of(const char* name, const Tensor& x, const KerasForm& form,
                std::function<Tensor(const Tensor&)> f);
Tensor whole_of(const char* name, const std::vector<Tensor>& inputs, const KerasForm& form,
                std::function<Tensor(const std::vector<Tensor>&)> f);

// f(inputs), as one op of a functional model where a placeholder among them has an axis from
// `first` on whose size isn't known.
Tensor as_whole(const char* name, const std::vector<Tensor>& inputs,
                const std::function<Tensor(const std::vector<Tensor>&)>& f, int64_t first = 0);

// Whether the zeros around the spatial axes of x (batch, spatial…, channels) follow from sizes that
// aren't known.
bool has_open_padding(const Tensor& x, const Padding& padding, const std::vector<int64_t>& strides);

// Numbers as Keras's configs have them: one alone, or a list of several.
Json one_or_list(const std::vector<int64_t>& numbers);

}  // namespace cornu::ops::internal

// SPDX-License-Identifier: Apache-2.0
#include "framework/train/string_inputs.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/model/call_frame.h"
#include "framework/strategy/strategy.h"
#include "framework/train/body.h"

namespace cornu {
namespace {

bool is_of_strings(const Tensor& tensor) { return tensor.dtype() == DType::String; }

// " 'name'" or " number 2"; empty for a single column.
std::string first_column_of_strings(const Tensors& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!is_of_strings(tensors[i])) continue;
    if (tensors.has_names()) return fmt::format(" '{}'", tensors.names()[i]);
    return tensors.size() == 1 ? "" : fmt::format(" number {}", i);
  }
  return "";
}

constexpr const char* kAdvice =
    "Convert them to numbers in Dataset::map, for example with layers::StringLookup, a "
    "data::StaticHashTable or strings::to_number, or omit the column there.";

}  // namespace

bool has_strings(const Tensors& tensors) { return std::ranges::any_of(tensors, is_of_strings); }

void require_numbers_beside_x(const Batch& batch) {
  for (const auto& [tensors, what] :
       {std::pair(&batch.y, "y"), std::pair(&batch.sample_weight, "sample_weight")}) {
    check<InvalidArgument>(
        !has_strings(*tensors),
        "the column{} of {} has strings, which losses and metrics don't take. {}",
        first_column_of_strings(*tensors), what, kAdvice);
  }
}

Tensors without_strings(Model& model, const Tensors& x, bool training) {
  if (!has_strings(x) || !model.is_handle() || !model.body()) return x;
  if (!model.built()) {
    std::vector<Shape> shapes;
    for (const Tensor& tensor : x) shapes.push_back(tensor.shape());
    model.ensure_built(shapes, x.names());
  }
  const FunctionalGraph* graph = model.body()->graph();
  if (!graph) return x;
  const internal::CallFrame nobody;  // its layers already have an owner
  const internal::CallScope told(training);
  return graph->without_strings(x).value_or(x);
}

void require_single_replica(const Model& model, const Tensors& x) {
  const int64_t replicas = get_strategy().num_replicas_in_sync();
  check<InvalidArgument>(
      replicas == 1,
      "{}: the column{} of x has strings, which only its layers themselves can read, op by op; its "
      "steps run on {} replicas, which takes a graph of numbers. {}",
      title_of(model), first_column_of_strings(x), replicas, kAdvice);
}

}  // namespace cornu

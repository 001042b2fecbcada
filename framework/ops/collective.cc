// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/collective.h"

#include "framework/ops/definition.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

void require_reduction(std::string_view reduce) {
  check<InvalidArgument>(reduce == "sum" || reduce == "mean" || reduce == "min" || reduce == "max",
                         "all_reduce: expected sum, mean, min or max, got '{}'.", reduce);
}

Types infer_all_reduce(TypeSpan inputs, const Attributes& attributes) {
  require_reduction(attributes.get_string("reduce"));
  for (const TensorType& type : inputs) {
    check<InvalidArgument>(type.dtype != DType::Bool,
                           "all_reduce: expected numbers, got bool of shape {}. Cast it first.",
                           type.shape);
  }
  return {inputs.begin(), inputs.end()};
}

Gradients all_reduce_vjp(const VjpContext& c) {
  if (c.attributes.find("local_gradient")) {
    return c.output_gradients;
  }
  const std::string& reduce = c.attributes.get_string("reduce");
  check<Unimplemented>(reduce == "sum" || reduce == "mean",
                       "all_reduce: there is no gradient of '{}'.", reduce);
  std::vector<Tensor> gradients = c.output_gradients;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = zeros_like(c.out(i));
  }
  return all_reduce(gradients, reduce);
}

}  // namespace

void register_collective(OpRegistry& registry) {
  registry.add({.name = "all_reduce",
                .infer = infer_all_reduce,
                .vjp = all_reduce_vjp,
                .traits = {.collective = true}});
}

std::vector<Tensor> all_reduce(const std::vector<Tensor>& xs, std::string_view reduce) {
  require_reduction(reduce);
  if (xs.empty()) return {};
  return cornu::apply(op<"all_reduce">(), xs, {{"reduce", std::string(reduce)}});
}

Tensor all_reduce(const Tensor& x, std::string_view reduce) {
  return all_reduce(std::vector<Tensor>{x}, reduce).front();
}

std::vector<Tensor> all_reduce_sparse(const std::vector<Tensor>& xs) {
  if (xs.empty()) return {};
  return cornu::apply(op<"all_reduce">(), xs, {{"reduce", std::string("sum")}, {"sparse", true}});
}

Tensor sum_of_parts(const Tensor& part) {
  return cornu::apply(op<"all_reduce">(), {part},
                      {{"reduce", std::string("sum")}, {"local_gradient", true}})
      .front();
}

Tensor all_reduce_of_gathered(const Tensor& spread, const Shape& own, int64_t axis,
                              int64_t number) {
  return cornu::apply(op<"all_reduce">(), {spread},
                      {{"reduce", std::string("sum")},
                       {"gathers", own.dims()},
                       {"axis", axis},
                       {"gather", number}})
      .front();
}

}  // namespace cornu::ops

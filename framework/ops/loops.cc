// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/loops.h"

#include <algorithm>

#include "framework/ops/control.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

Tensor slice_of(const Tensor& x, int64_t index) {
  return squeeze(slice_axis(x, 0, index, index + 1), 0);
}

// The slices along axis 0 that all have.
int64_t length_of(const std::vector<Tensor>& xs, std::string_view who) {
  check<InvalidArgument>(!xs.empty(), "{}: expected tensors, got none.", who);
  for (const Tensor& x : xs) {
    require_static(x, who);
    check<InvalidArgument>(x.rank() >= 1 && x.dim(0) == xs[0].dim(0),
                           "{}: expected tensors of as many slices along axis 0, got shapes {} and "
                           "{}.",
                           who, xs[0].shape(), x.shape());
  }
  return xs[0].dim(0);
}

using Branch = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

std::vector<Tensor> choose(const Tensor& index, const std::vector<Branch>& branches, size_t first,
                           const std::vector<Tensor>& operands) {
  if (first + 1 == branches.size()) return branches[first](operands);
  const std::function<std::vector<Tensor>()> this_one = [&] { return branches[first](operands); };
  const std::function<std::vector<Tensor>()> later = [&] {
    return choose(index, branches, first + 1, operands);
  };
  return cond(less_equal(index, static_cast<int64_t>(first)), this_one, later);
}

}  // namespace

std::vector<Tensor> fori_loop(
    const Tensor& lower, const Tensor& upper,
    const std::function<std::vector<Tensor>(const Tensor&, const std::vector<Tensor>&)>& body_fun,
    const std::vector<Tensor>& init_val) {
  check<InvalidArgument>(lower.rank() == 0 && upper.rank() == 0 && is_integer(lower.dtype()) &&
                             is_integer(upper.dtype()),
                         "fori_loop: expected integers as bounds, got {} {} and {} {}.",
                         lower.dtype(), lower.shape(), upper.dtype(), upper.shape());
  const auto [first, last] = unify(lower, upper, "fori_loop");
  std::vector<Tensor> values;
  for (const Tensor& value : init_val) values.push_back(value.strong());
  if (!first.is_symbolic() && !last.is_symbolic()) {
    const auto end = last.item<int64_t>();
    for (auto i = first.item<int64_t>(); i < end; ++i) {
      values = body_fun(converted_scalar(i, first.dtype()), values);
    }
    return values;
  }
  values.insert(values.begin(), first);
  values =
      while_loop([&, &last = last](const std::vector<Tensor>& all) { return less(all[0], last); },
                 [&](const std::vector<Tensor>& all) {
                   std::vector<Tensor> next = body_fun(all[0], {all.begin() + 1, all.end()});
                   next.insert(next.begin(), all[0] + 1);
                   return next;
                 },
                 values);
  values.erase(values.begin());
  return values;
}

Tensor fori_loop(const Tensor& lower, const Tensor& upper,
                 const std::function<Tensor(const Tensor&, const Tensor&)>& body_fun,
                 const Tensor& init_val) {
  const std::function<std::vector<Tensor>(const Tensor&, const std::vector<Tensor>&)> body =
      [&](const Tensor& i, const std::vector<Tensor>& values) {
        return std::vector<Tensor>{body_fun(i, values[0])};
      };
  return fori_loop(lower, upper, body, std::vector<Tensor>{init_val}).front();
}

std::vector<Tensor> map(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                        const std::vector<Tensor>& xs) {
  const int64_t count = length_of(xs, "map");
  check<InvalidArgument>(count > 0, "map: expected at least one slice along axis 0, got shape {}.",
                         xs[0].shape());
  std::vector<std::vector<Tensor>> results;  // by output
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Tensor> slices;
    for (const Tensor& x : xs) slices.push_back(slice_of(x, i));
    const std::vector<Tensor> outputs = f(slices);
    results.resize(outputs.size());
    for (size_t o = 0; o < outputs.size(); ++o) results[o].push_back(outputs[o]);
  }
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor>& result : results) stacked.push_back(stack(result));
  return stacked;
}

Tensor map(const std::function<Tensor(const Tensor&)>& f, const Tensor& xs) {
  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)> one =
      [&](const std::vector<Tensor>& slices) { return std::vector<Tensor>{f(slices[0])}; };
  return map(one, std::vector<Tensor>{xs}).front();
}

Tensor vectorized_map(const std::function<Tensor(const Tensor&)>& function,
                      const Tensor& elements) {
  return map(function, elements);
}

std::pair<Tensor, Tensor> scan(
    const std::function<std::pair<Tensor, Tensor>(const Tensor&, const Tensor&)>& f,
    const Tensor& init, const Tensor& xs, const ScanOptions& options) {
  check<InvalidArgument>(xs.defined() || options.length,
                         "scan: expected xs or a length, got neither.");
  const int64_t count = xs.defined() ? length_of({xs}, "scan") : *options.length;
  check<InvalidArgument>(options.length.value_or(count) == count && count >= 0,
                         "scan: expected a length of {}, as xs of shape {} has slices, got {}.",
                         count, xs.defined() ? xs.shape() : Shape(), options.length.value_or(0));
  Tensor carry = init.strong();
  std::vector<Tensor> ys;
  for (int64_t step = 0; step < count; ++step) {
    const int64_t index = options.reverse ? count - 1 - step : step;
    auto [next, y] = f(carry, xs.defined() ? slice_of(xs, index) : Tensor());
    carry = next;
    if (y.defined()) ys.push_back(y);
  }
  check<InvalidArgument>(ys.empty() || static_cast<int64_t>(ys.size()) == count,
                         "scan: expected a y of each step or of none, got {} of {}.", ys.size(),
                         count);
  if (options.reverse) std::reverse(ys.begin(), ys.end());
  return {carry, ys.empty() ? Tensor() : stack(ys)};
}

Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                        const Tensor& elems, bool reverse, int64_t axis) {
  const int64_t along = elems.shape().normalize_axis(axis, "associative_scan");
  require_static(elems, "associative_scan");
  const int64_t count = elems.dim(along);
  Tensor result = reverse ? flip(elems, along) : elems.strong();
  for (int64_t by = 1; by < count; by *= 2) {
    const Tensor done = slice_axis(result, along, 0, by);
    const Tensor joined =
        f(slice_axis(result, along, 0, count - by), slice_axis(result, along, by));
    result = concatenate({done, joined}, along);
  }
  return reverse ? flip(result, along) : result;
}

std::vector<Tensor> switch_(const Tensor& index, const std::vector<Branch>& branches,
                            const std::vector<Tensor>& operands) {
  check<InvalidArgument>(!branches.empty(), "switch_: expected at least one branch, got none.");
  check<InvalidArgument>(index.rank() == 0 && is_integer(index.dtype()),
                         "switch_: expected an integer as index, got {} {}.", index.dtype(),
                         index.shape());
  return choose(index.strong(), branches, 0, operands);
}

Tensor switch_(const Tensor& index,
               const std::vector<std::function<Tensor(const std::vector<Tensor>&)>>& branches,
               const std::vector<Tensor>& operands) {
  std::vector<Branch> lists;
  for (const auto& branch : branches) {
    lists.push_back([&branch](const std::vector<Tensor>& inputs) {
      return std::vector<Tensor>{branch(inputs)};
    });
  }
  return switch_(index, lists, operands).front();
}

}  // namespace cornu::ops

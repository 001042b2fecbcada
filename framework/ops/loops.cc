// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/loops.h"

#include <algorithm>

#include "framework/core/user_code.h"
#include "framework/ops/control.h"
#include "framework/ops/definition.h"
#include "framework/ops/loop_ops.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

Tensor slice_of(const Tensor& x, int64_t index) {
  return squeeze(slice_axis(x, 0, index, index + 1), 0);
}

// The number of slices along axis 0, which must be the same for all.
int64_t length_of(const std::vector<Tensor>& xs, std::string_view who) {
  check<InvalidArgument>(!xs.empty(), "{}: expected tensors, got none.", who);
  for (size_t i = 0; i < xs.size(); ++i) {
    require_defined(xs[i], who);
    check<InvalidArgument>(xs[i].rank() >= 1,
                           "{}: expected tensors with slices along axis 0, got a scalar as tensor "
                           "{}. Repeat it for every slice, or capture it in the function.",
                           who, i);
    check<InvalidArgument>(xs[i].dim(0) == xs[0].dim(0),
                           "{}: expected tensors of as many slices along axis 0, got {} in tensor "
                           "0 (shape {}) and {} in tensor {} (shape {}).",
                           who, xs[0].dim(0), xs[0].shape(), xs[i].dim(0), i, xs[i].shape());
  }
  return xs[0].dim(0);
}

std::vector<Tensor> strong(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.strong());
  return result;
}

// Runs one iteration after the other, without a graph.
ScanResult turn_by_turn(const ScanPlan& plan, const ScanFunction& f) {
  std::vector<Tensor> carries = plan.init;
  std::vector<std::vector<Tensor>> stacks;  // by y
  for (int64_t turn = 0; turn < plan.length; ++turn) {
    const int64_t index = plan.reverse ? plan.length - 1 - turn : turn;
    std::vector<Tensor> slices;
    for (const Tensor& x : plan.xs) slices.push_back(slice_of(x, index));
    ScanResult result = f(carries, slices);
    result.carries = strong(result.carries);
    require_kept_types(carries, result.carries, plan.who, plan.what);
    carries = std::move(result.carries);
    if (turn == 0) stacks.resize(result.ys.size());
    check<InvalidArgument>(
        result.ys.size() == stacks.size(),
        "{}: expected as many results of each iteration, got {} of one and {} of "
        "another.",
        plan.who, stacks.size(), result.ys.size());
    for (size_t i = 0; i < stacks.size(); ++i) stacks[i].push_back(result.ys[i]);
  }
  std::vector<Tensor> ys;
  for (std::vector<Tensor>& stacked : stacks) {
    if (plan.reverse) std::reverse(stacked.begin(), stacked.end());
    ys.push_back(stack(stacked));
  }
  return {std::move(carries), std::move(ys)};
}

// A loop whose iterations are groups of `together` iterations, followed by the remaining ones one
// by one.
ScanResult by_groups(const ScanPlan& plan, const ScanFunction& f, int64_t together) {
  const int64_t groups = plan.length / together;
  const int64_t grouped = groups * together;
  const int64_t left = plan.length - grouped;
  ScanPlan first = plan;
  ScanPlan rest = plan;
  first.length = groups;
  rest.length = left;
  for (size_t i = 0; i < plan.xs.size(); ++i) {
    const Tensor& x = plan.xs[i];
    const int64_t begin = plan.reverse ? left : 0;
    first.xs[i] = reshape(slice_axis(x, 0, begin, begin + grouped),
                          Shape({groups, together}).concat(x.shape().slice(1)));
    rest.xs[i] = plan.reverse ? slice_axis(x, 0, 0, left) : slice_axis(x, 0, grouped);
  }
  ScanResult result = traced_scan(
      [&](const std::vector<Tensor>& carries, const std::vector<Tensor>& x) {
        return turn_by_turn({.init = carries, .xs = x, .length = together, .reverse = plan.reverse},
                            f);
      },
      first);
  for (Tensor& y : result.ys) y = reshape(y, Shape({grouped}).concat(y.shape().slice(2)));
  if (left == 0) return result;
  rest.init = result.carries;
  ScanResult others = turn_by_turn(rest, f);
  for (size_t i = 0; i < result.ys.size(); ++i) {
    const Tensor& y = result.ys[i];
    others.ys[i] =
        plan.reverse ? concatenate({others.ys[i], y}, 0) : concatenate({y, others.ys[i]}, 0);
  }
  return others;
}

// On values, the iterations are run; under a trace they are one node, unless `together` covers all
// of them. Without any iterations, f is still traced to find the types of its results.
ScanResult loop(const ScanPlan& plan, const ScanFunction& f, int64_t together = 1) {
  if (plan.length == 0) return traced_scan(f, plan);
  if (!current_tracer() || together >= plan.length) return turn_by_turn(plan, f);
  return together > 1 ? by_groups(plan, f, together) : traced_scan(f, plan);
}

int64_t turns_together(const ScanOptions& options, int64_t length) {
  if (const bool* all = std::get_if<bool>(&options.unroll)) return *all ? length : 1;
  const int64_t count = std::get<int64_t>(options.unroll);
  check<InvalidArgument>(
      count >= 1,
      "scan: expected unroll to be a bool or a number of iterations from 1 on, got "
      "{}.",
      count);
  return count;
}

std::vector<Tensor> counted_loop(
    const std::function<std::vector<Tensor>(const Tensor&, const std::vector<Tensor>&)>& body,
    std::vector<Tensor> values, const Tensor& lower, int64_t upper) {
  const auto first = lower.item<int64_t>();
  if (!current_tracer()) {
    for (int64_t i = first; i < upper; ++i) {
      std::vector<Tensor> next = strong(body(converted_scalar(i, lower.dtype()), values));
      require_kept_types(values, next, "fori_loop", "value");
      values = std::move(next);
    }
    return values;
  }
  const int64_t turns = upper > first ? checked_subtract(upper, first, "fori_loop") : 0;
  values.push_back(lower.strong());
  const ScanFunction turn = [&](const std::vector<Tensor>& carries, const std::vector<Tensor>&) {
    const Tensor& i = carries.back();
    std::vector<Tensor> next = body(i, {carries.begin(), carries.end() - 1});
    next.push_back(i + 1);
    return ScanResult{std::move(next), {}};
  };
  values =
      loop({.init = values, .xs = {}, .length = turns, .who = "fori_loop", .what = "value"}, turn)
          .carries;
  values.pop_back();
  return values;
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
  given_function(body_fun, "fori_loop");
  check<InvalidArgument>(lower.rank() == 0 && upper.rank() == 0 && is_integer(lower.dtype()) &&
                             is_integer(upper.dtype()),
                         "fori_loop: expected integers as bounds, got {} {} and {} {}.",
                         lower.dtype(), lower.shape(), upper.dtype(), upper.shape());
  const auto [first, last] = unify(lower, upper, "fori_loop");
  std::vector<Tensor> values;
  for (const Tensor& value : init_val) values.push_back(value.strong());
  if (!first.is_symbolic() && !last.is_symbolic()) {
    return counted_loop(body_fun, std::move(values), first, last.item<int64_t>());
  }
  values.insert(values.begin(), first);
  if (any_placeholder({first, last})) {
    values.insert(values.begin() + 1, last);
    return apply_whole("fori_loop", values, [body_fun](const std::vector<Tensor>& given) {
      return fori_loop(given[0], given[1], body_fun, {given.begin() + 2, given.end()});
    });
  }
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
      [f = given_function(body_fun, "fori_loop")](const Tensor& i,
                                                  const std::vector<Tensor>& values) {
        return std::vector<Tensor>{f(i, values[0])};
      };
  return fori_loop(lower, upper, body, std::vector<Tensor>{init_val}).front();
}

std::vector<Tensor> map(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                        const std::vector<Tensor>& xs) {
  given_function(f, "map");
  if (any_placeholder(xs)) {
    return apply_whole("map", xs, [f](const std::vector<Tensor>& given) { return map(f, given); });
  }
  const int64_t count = length_of(xs, "map");
  check<InvalidArgument>(count > 0, "map: expected at least one slice along axis 0, got shape {}.",
                         xs[0].shape());
  const ScanFunction turn = [&](const std::vector<Tensor>&, const std::vector<Tensor>& slices) {
    return ScanResult{{}, f(slices)};
  };
  return loop({.init = {}, .xs = strong(xs), .length = count, .who = "map"}, turn).ys;
}

Tensor map(const std::function<Tensor(const Tensor&)>& f, const Tensor& xs) {
  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)> one =
      [f = given_function(f, "map")](const std::vector<Tensor>& slices) {
        return std::vector<Tensor>{f(slices[0])};
      };
  return map(one, std::vector<Tensor>{xs}).front();
}

Tensor vectorized_map(const std::function<Tensor(const Tensor&)>& function,
                      const Tensor& elements) {
  return map(function, elements);
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(
    const std::function<std::pair<std::vector<Tensor>, std::vector<Tensor>>(
        const std::vector<Tensor>&, const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& init, const std::vector<Tensor>& xs, const ScanOptions& options) {
  given_function(f, "scan");
  check<InvalidArgument>(!xs.empty() || options.length,
                         "scan: expected xs or a length, got neither.");
  check<InvalidArgument>(options.length.value_or(0) >= 0,
                         "scan: expected a length of at least 0, got {}.",
                         options.length.value_or(0));
  std::vector<Tensor> all = init;
  all.insert(all.end(), xs.begin(), xs.end());
  if (any_placeholder(all)) {
    const auto carries = static_cast<int64_t>(init.size());
    const std::vector<Tensor> results =
        apply_whole("scan", all, [f, carries, options](const std::vector<Tensor>& given) {
          auto [last, ys] = scan(f, {given.begin(), given.begin() + carries},
                                 {given.begin() + carries, given.end()}, options);
          last.insert(last.end(), ys.begin(), ys.end());
          return last;
        });
    return {{results.begin(), results.begin() + carries},
            {results.begin() + carries, results.end()}};
  }
  const int64_t count = xs.empty() ? *options.length : length_of(xs, "scan");
  check<InvalidArgument>(options.length.value_or(count) == count,
                         "scan: expected a length of {}, the number of slices along axis 0 of xs "
                         "(shape {}), got {}. Omit the length, or take as many slices first.",
                         count, xs.empty() ? Shape() : xs[0].shape(), options.length.value_or(0));
  const ScanFunction turn = [&](const std::vector<Tensor>& carries,
                                const std::vector<Tensor>& slices) {
    auto [next, ys] = f(carries, slices);
    return ScanResult{std::move(next), std::move(ys)};
  };
  ScanResult result =
      loop({.init = strong(init), .xs = strong(xs), .length = count, .reverse = options.reverse},
           turn, turns_together(options, count));
  return {std::move(result.carries), std::move(result.ys)};
}

std::pair<Tensor, Tensor> scan(
    const std::function<std::pair<Tensor, Tensor>(const Tensor&, const Tensor&)>& f,
    const Tensor& init, const Tensor& xs, const ScanOptions& options) {
  using Lists = std::pair<std::vector<Tensor>, std::vector<Tensor>>;
  const std::function<Lists(const std::vector<Tensor>&, const std::vector<Tensor>&)> lists =
      [f = given_function(f, "scan")](const std::vector<Tensor>& carries,
                                      const std::vector<Tensor>& slices) {
        const auto [next, y] = f(carries[0], slices.empty() ? Tensor() : slices[0]);
        Lists result;
        result.first.push_back(next);
        if (y.defined()) result.second.push_back(y);
        return result;
      };
  const auto [carries, ys] =
      scan(lists, std::vector<Tensor>{init},
           xs.defined() ? std::vector<Tensor>{xs} : std::vector<Tensor>(), options);
  return {carries[0], ys.empty() ? Tensor() : ys[0]};
}

std::vector<Tensor> associative_scan(const AssociativeFunction& f, const std::vector<Tensor>& elems,
                                     bool reverse, int64_t axis) {
  constexpr const char* who = "associative_scan";
  given_function(f, who);
  check<InvalidArgument>(!elems.empty(), "{}: expected at least one tensor, got none.", who);
  for (const Tensor& elem : elems) require_defined(elem, who);
  const auto size_of = [&](const Tensor& x) { return x.dim(x.shape().normalize_axis(axis, who)); };
  const int64_t count = size_of(elems[0]);
  for (const Tensor& elem : elems) {
    check<InvalidArgument>(size_of(elem) == count,
                           "{}: expected tensors of one size along axis {}, got shapes {} and {}.",
                           who, axis, elems[0].shape(), elem.shape());
  }
  if (count == kUnknown) {
    return apply_whole(who, elems, [=](const std::vector<Tensor>& given) {
      return associative_scan(f, given, reverse, axis);
    });
  }
  const auto each = [](const std::vector<Tensor>& xs, auto of) {
    std::vector<Tensor> result;
    for (const Tensor& x : xs) result.push_back(of(x));
    return result;
  };
  const auto turned = [&](const Tensor& x) { return reverse ? flip(x, axis) : x.strong(); };
  std::vector<Tensor> result = each(elems, turned);
  for (int64_t by = 1; by < count; by = Checked(by, who) * 2) {
    const auto first = [&](const Tensor& x) { return slice_axis(x, axis, 0, count - by); };
    const auto second = [&](const Tensor& x) { return slice_axis(x, axis, by); };
    const std::vector<Tensor> joined = f(each(result, first), each(result, second));
    check<InvalidArgument>(joined.size() == elems.size(),
                           "{}: expected a function that gives {} tensors, as it is given, got {}.",
                           who, elems.size(), joined.size());
    for (size_t i = 0; i < joined.size(); ++i) {
      result[i] = concatenate({slice_axis(result[i], axis, 0, by), joined[i]}, axis);
    }
  }
  return each(result, turned);
}

Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                        const Tensor& elems, bool reverse, int64_t axis) {
  const AssociativeFunction lists = [f = given_function(f, "associative_scan")](
                                        const std::vector<Tensor>& a,
                                        const std::vector<Tensor>& b) {
    return std::vector<Tensor>{f(a[0], b[0])};
  };
  return associative_scan(lists, std::vector<Tensor>{elems}, reverse, axis).front();
}

std::vector<Tensor> switch_(const Tensor& index, const std::vector<Branch>& branches,
                            const std::vector<Tensor>& operands) {
  check<InvalidArgument>(!branches.empty(), "switch_: expected at least one branch, got none.");
  for (const Branch& branch : branches) given_function(branch, "switch_");
  check<InvalidArgument>(index.rank() == 0 && is_integer(index.dtype()),
                         "switch_: expected an integer as index, got {} {}.", index.dtype(),
                         index.shape());
  if (any_placeholder({index})) {
    std::vector<Tensor> all = {index};
    all.insert(all.end(), operands.begin(), operands.end());
    return apply_whole("switch", all, [branches](const std::vector<Tensor>& given) {
      return switch_(given[0], branches, {given.begin() + 1, given.end()});
    });
  }
  return choose(index.strong(), branches, 0, operands);
}

Tensor switch_(const Tensor& index,
               const std::vector<std::function<Tensor(const std::vector<Tensor>&)>>& branches,
               const std::vector<Tensor>& operands) {
  std::vector<Branch> lists;
  for (const auto& branch : branches) {
    lists.push_back(
        [branch = given_function(branch, "switch_")](const std::vector<Tensor>& inputs) {
          return std::vector<Tensor>{branch(inputs)};
        });
  }
  return switch_(index, lists, operands).front();
}

}  // namespace cornu::ops

// SPDX-License-Identifier: Apache-2.0
// Conditions and loops. The status of checks within them is carried as one more value.
#include <algorithm>

#include "framework/backends/xla/lowering.h"
#include "framework/core/error.h"

namespace cornu::xla {
namespace {

bool communicates(const Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return node.traits().collective; });
}

// Whether a graph may fail checks: of values or, if several replicas run it, because the replicas'
// values lead to different communication.
bool refuses(const Graph& graph, const Writer& to) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const OpTraits traits = node.traits();
    const bool runs_collectives = traits.collective && !node.op->traits.collective;
    return traits.checks_values || (to.replicas > 1 && runs_collectives);
  });
}

// The number of replicas on which a predicate holds.
Value count_holding(const Value& predicate, Writer& to) {
  return reduce_replicas(to, "add", convert(to, predicate, DType::Int32));
}

Value holds_anywhere(const Value& predicate, Writer& to) {
  const Value count = count_holding(predicate, to);
  return compare(to, "GT", count, like(to, 0, count));
}

// For predicates that decide about collectives: if they differed, replicas would wait for each
// other forever. So all replicas behave as if it holds, and the difference is reported as a failed
// check.
Value agreed(const std::string& op, const Value& predicate, Writer& to) {
  const Value count = count_holding(predicate, to);
  const Value some = compare(to, "GT", count, like(to, 0, count));
  const Value not_all = compare(to, "LT", count, splat_int(to, to.replicas, count.type));
  to.refuse(both(to, some, not_all), count, [op, replicas = to.replicas](int64_t holding, int64_t) {
    raise<FailedPrecondition>(
        "{}: every rank must make the same calls in the same order, but its predicate holds on {} "
        "of {} replicas, and what it decides over communicates. What replicas do may not depend on "
        "their data: let them reduce it before, for example with all_reduce.",
        op, holding, replicas);
  });
  return some;
}

// Ensures that the status exists if it will be carried.
void require_status(bool carried, Writer& to) {
  if (carried && !to.has_status()) to.set_status(to.no_status());
}

Value pop(Values& values) {
  Value last = std::move(values.back());
  values.pop_back();
  return last;
}

Values lower_cond(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Graph& then = spec.attributes.get_graph("then");
  const Graph& otherwise = spec.attributes.get_graph("else");
  const bool checks = refuses(then, to) || refuses(otherwise, to);
  Value predicate = reshape(to, in[0], {});
  if (to.replicas > 1 && (communicates(then) || communicates(otherwise))) {
    predicate = agreed(spec.op.name, predicate, to);
  }
  require_status(checks, to);
  const Value before = to.status();
  std::vector<TensorType> types(spec.outputs.begin(), spec.outputs.end());
  if (checks) types.push_back(before.type);
  const auto branch = [&](const Graph& graph) {
    to.set_status(before);
    return to.region({}, [&](std::span<const Value>) -> Values {
      Values results = lower_graph(graph, in.subspan(1), to);
      if (checks) results.push_back(to.status());
      return results;
    });
  };
  const std::string regions = branch(then) + ", " + branch(otherwise);
  Values results = to.ops("stablehlo.if", {&predicate, 1}, types, {}, regions);
  to.set_status(checks ? pop(results) : before);
  return results;
}

// A loop over a body's graph: carries, xs (each iteration gets a slice of each), captures.
struct Loop {
  const Graph& body;
  Values carries;
  Values xs;
  Values captures;
  int64_t slots;  // number of slices in the stacks
  bool agrees;    // whether replicas must agree on each iteration
  bool checks;

  size_t stacks() const { return body.outputs.size() - carries.size(); }
};

// What a loop carries: the iteration number, carries, stacks, xs, captures and perhaps a status.
class LoopValues {
 public:
  LoopValues(const Loop& loop, std::span<const Value> values) : values_(values) {
    const size_t sizes[] = {1, loop.carries.size(), loop.stacks(), loop.xs.size(),
                            loop.captures.size()};
    size_t at = 0;
    for (size_t i = 0; i < std::size(sizes); ++i) {
      parts_[i] = values.subspan(at, sizes[i]);
      at += sizes[i];
    }
  }
  const Value& turn() const { return parts_[0].front(); }
  std::span<const Value> carries() const { return parts_[1]; }
  std::span<const Value> stacks() const { return parts_[2]; }
  std::span<const Value> xs() const { return parts_[3]; }
  std::span<const Value> captures() const { return parts_[4]; }
  const Value& status() const { return values_.back(); }

 private:
  std::span<const Value> values_;
  std::span<const Value> parts_[5];
};

void append(Values& list, std::span<const Value> more) {
  list.insert(list.end(), more.begin(), more.end());
}

Values initial_values(const Loop& loop, Writer& to) {
  Values values = {splat_int(to, 0, {DType::Int64, {}})};
  append(values, loop.carries);
  for (size_t i = loop.carries.size(); i < loop.body.outputs.size(); ++i) {
    const TensorType& slice = loop.body.type(loop.body.outputs[i]);
    values.push_back(splat(to, 0, {slice.dtype, Shape{loop.slots}.concat(slice.shape)}));
  }
  append(values, loop.xs);
  append(values, loop.captures);
  if (loop.checks) values.push_back(to.status());
  return values;
}

// One iteration, with the slices at `place`.
Values next_values(const Loop& loop, const LoopValues& now, const Value& place, Writer& to) {
  Values inputs(now.carries().begin(), now.carries().end());
  for (const Value& x : now.xs()) inputs.push_back(row(to, x, place));
  append(inputs, now.captures().first(loop.body.inputs.size() - inputs.size()));
  const Values results = lower_graph(loop.body, inputs, to);
  Values next = {add(to, now.turn(), splat_int(to, 1, now.turn().type))};
  append(next, std::span(results).first(loop.carries.size()));
  for (size_t i = 0; i < loop.stacks(); ++i) {
    next.push_back(with_row(to, now.stacks()[i], results[loop.carries.size() + i], place));
  }
  append(next, now.xs());
  append(next, now.captures());
  if (loop.checks) next.push_back(to.status());
  return next;
}

// Iterates while `goes_on` holds, each time with the slices at `place`; returns what the loop
// carries.
Values write_loop(const std::string& who, const Loop& loop,
                  FunctionRef<Value(const LoopValues&)> goes_on,
                  FunctionRef<Value(const LoopValues&)> place, Writer& to) {
  require_status(loop.checks, to);
  const Value before = to.status();
  const auto condition = [&](std::span<const Value> values) {
    const Value holds = goes_on(LoopValues(loop, values));
    return loop.agrees ? holds_anywhere(holds, to) : holds;
  };
  const auto turn = [&](std::span<const Value> values) -> Values {
    const LoopValues now(loop, values);
    if (loop.checks) to.set_status(now.status());
    if (loop.agrees) agreed(who, goes_on(now), to);
    return next_values(loop, now, place(now), to);
  };
  Values results = while_loop(to, initial_values(loop, to), condition, turn);
  to.set_status(loop.checks ? results.back() : before);
  return results;
}

Values part(std::span<const Value> values, size_t begin, size_t end) {
  return {values.begin() + static_cast<int64_t>(begin), values.begin() + static_cast<int64_t>(end)};
}

Values lower_scan(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Graph& body = spec.attributes.get_graph("body");
  const auto carries = static_cast<size_t>(spec.attributes.get_int("carries"));
  const auto xs = static_cast<size_t>(spec.attributes.get_int("xs"));
  const int64_t length = spec.attributes.get_int("length");
  const bool reverse = spec.attributes.get_bool("reverse");
  const bool counted = spec.attributes.get_bool("counted");
  const size_t captures = in.size() - (counted ? 1 : 0);
  if (length == 0) {
    Values results = part(in, 0, carries);
    for (const TensorType& ys : spec.outputs.subspan(carries)) results.push_back(splat(to, 0, ys));
    return results;
  }
  const TensorType number{DType::Int64, {}};
  const bool agrees = counted && to.replicas > 1 && communicates(body);
  Value count = splat_int(to, length, number);
  if (counted) {
    const Value given = reshape(to, in.back(), {});
    count = binary(to, "minimum", count, binary(to, "maximum", given, splat_int(to, 0, number)));
  }
  Loop loop{body,
            part(in, 0, carries),
            part(in, carries, carries + xs),
            part(in, carries + xs, captures),
            length,
            agrees,
            agrees || refuses(body, to)};
  loop.captures.push_back(count);
  const auto goes_on = [&](const LoopValues& now) {
    return compare(to, "LT", now.turn(), now.captures().back());
  };
  const auto place = [&](const LoopValues& now) {
    if (!reverse) return now.turn();
    const Value last = subtract(to, now.captures().back(), splat_int(to, 1, number));
    return subtract(to, last, now.turn());
  };
  const Values results = write_loop(spec.op.name, loop, goes_on, place, to);
  return part(results, 1, 1 + body.outputs.size());
}

Values lower_while(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Graph& body = spec.attributes.get_graph("body");
  const Graph& condition = spec.attributes.get_graph("condition");
  const auto carries = static_cast<size_t>(spec.attributes.get_int("carries"));
  const int64_t maximum = spec.attributes.get_int("maximum");
  // Failed checks in a condition can't be carried.
  if (refuses(condition, to)) return {};
  const bool agrees = to.replicas > 1 && communicates(body);
  const Loop loop{body,
                  part(in, 0, carries),
                  {},
                  part(in, carries, in.size()),
                  std::max<int64_t>(maximum, 0),
                  agrees,
                  agrees || refuses(body, to)};
  const auto goes_on = [&](const LoopValues& now) {
    Values inputs(now.carries().begin(), now.carries().end());
    append(inputs, now.captures());
    const Value holds = reshape(to, lower_graph(condition, inputs, to).front(), {});
    if (maximum < 0) return holds;
    return both(to, holds, compare(to, "LT", now.turn(), splat_int(to, maximum, now.turn().type)));
  };
  const auto place = [](const LoopValues& now) { return now.turn(); };
  if (maximum == 0) {
    Values results = loop.carries;
    for (const TensorType& type : spec.outputs.subspan(carries)) {
      results.push_back(splat(to, 0, type));
    }
    return results;
  }
  const Values all = write_loop(spec.op.name, loop, goes_on, place, to);
  Values results = part(all, 1, 1 + carries);
  results.push_back(reshape(to, all[0], spec.outputs[carries].shape));
  append(results, std::span(all).subspan(1 + carries, loop.stacks()));
  return results;
}

}  // namespace

void register_control(LoweringTable& table) {
  table.add("cond", lower_cond);
  table.add("scan", lower_scan);
  table.add("while", lower_while);
}

}  // namespace cornu::xla

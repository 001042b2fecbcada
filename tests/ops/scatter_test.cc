// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

Tensor ints(const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

void check_smooth(const OpFunction& f, const Inputs& inputs) {
  check_compiled(f, inputs, 1e-10);
  check_gradients(f, inputs);
}

TEST_CASE("segments: gradients, any integers as ids, and places that don't exist") {
  const Tensor data = random_tensor({5, 2});
  const Tensor ids = ints({0, 2, 0, 2, 2}, {5});
  check_smooth(
      [&](const Inputs& in) {
        // Segment 1 is empty; its -infinity has no finite differences.
        return ops::take(ops::segment_max(in[0], ids, 3), ints({0, 2}, {2}), 0);
      },
      {data});
  check_smooth([&](const Inputs& in) { return ops::segment_prod(in[0], ids, 4); }, {data});
  const auto least = [&](const Inputs& in) {
    return ops::slice_axis(ops::segment_min(in[0], ids, 3), 0, 0, 1);
  };
  check_smooth(least, {data});
  // For a product with a single 0, the gradient is the product of the other elements.
  const Tensor zeros = Tensor::from(std::vector<double>{0, 3, 2, 0, 0}, {5});
  check_gradients([&](const Inputs& in) { return ops::segment_prod(in[0], ids, 3); }, {zeros},
                  {.second_order = false});
  for (const DType dtype : {DType::UInt8, DType::Int64, DType::UInt32}) {
    check_same(ops::segment_max(data, ops::cast(ids, dtype), 3), ops::segment_max(data, ids, 3));
  }
  const Tensor nan = Tensor::from(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()});
  CHECK(std::isnan(ops::segment_max(nan, ints({0, 0}, {2}), 1).item<double>()));
  CHECK(std::isinf(ops::segment_max(data, ids, 3).data<double>()[2]));  // an empty segment
  check_values(ops::segment_max(ints({3, -2}, {2}), ints({1, 1}, {2}), 2), {2}, {-2147483648.0, 3});
  CHECK(ops::segment_prod(ops::cast(data, DType::BFloat16), ids, 3).dtype() == DType::BFloat16);
  CHECK(message_of<OutOfRange>([&] {
          ops::segment_max(data, ids, 2);
        }).ends_with("segment_reduce: index 2 is outside of [0, 2), the segments."));
  CHECK(message_of<InvalidArgument>([&] { ops::segment_max(data, ints({0}, {1}), 2); }) ==
        "segment_max: expected one segment id for each slice of data of shape (5, 2), got shape "
        "(1,).");
}

TEST_CASE("scatter and scatter_update: gradients; the last of several updates stays") {
  const Tensor x = random_tensor({3, 4});
  const Tensor updates = random_tensor({3}, -2, 2, 5);
  const Tensor indices = ints({0, 1, 2, 3, 0, 1}, {3, 2});
  check_smooth([&](const Inputs& in) { return ops::scatter(indices, in[0], {3, 4}); }, {updates});
  for (const std::string reduction : {"", "add", "max", "min", "mul"}) {
    CAPTURE(reduction);
    check_smooth(
        [&](const Inputs& in) { return ops::scatter_update(in[0], indices, in[1], reduction); },
        {x, updates});
  }
  check_values(ops::scatter_update(ops::zeros({3}), ints({1, 1, 0}, {3, 1}),
                                   Tensor::from(std::vector<float>{5, 6, 7})),
               {3}, {7, 6, 0});
  const double low = -std::numeric_limits<double>::infinity();
  check_values(ops::scatter_update(ops::full({2}, low), ints({1}, {1, 1}), ops::ones({1}), "max"),
               {2}, {low, 1});
  check_values(
      ops::scatter_update(x, ops::zeros({0, 2}, DType::Int32), ops::zeros({0}, DType::Float64)),
      {3, 4}, to_doubles(x));
  CHECK(message_of<InvalidArgument>([&] {
          ops::scatter_update(x, indices, updates, "sum");
        }).starts_with("scatter_update: unknown reduction 'sum'."));
  CHECK(message_of<InvalidArgument>([&] {
          ops::scatter(indices, x, {3, 4});
        }) == "scatter: expected values of shape (3,) for indices of shape (3, 2), got (3, 4).");
  CHECK(message_of<OutOfRange>([&] {
          ops::scatter(ints({0, 9}, {1, 2}), ops::ones({1}), {3, 4});
        }).find("id 12 is outside of [0, 12)") != std::string::npos);
}

TEST_CASE("scatters of bools stay bools") {
  const Tensor x = Tensor::from<bool>({true, false, false, true});
  const Tensor at = Tensor::from<int32_t>({0, 1, 1, 3}, {4, 1});
  const Tensor updates = Tensor::from<bool>({false, true, false, true});
  const auto updated = [&](const char* how) { return ops::scatter_update(x, at, updates, how); };
  check_same(updated("max"), Tensor::from<bool>({true, true, false, true}));
  check_same(updated("add"), Tensor::from<bool>({true, true, false, true}));
  check_same(updated("min"), Tensor::from<bool>({false, false, false, true}));
  check_same(updated("mul"), Tensor::from<bool>({false, false, false, true}));
  check_same(updated(""), Tensor::from<bool>({false, false, false, true}));
  check_same(ops::scatter(at, updates, {4}), Tensor::from<bool>({false, true, false, true}));
  check_same(ops::segment_sum(updates, Tensor::from<int32_t>({0, 0, 1, 0}), 2),
             Tensor::from<int32_t>({2, 0}));
}

TEST_CASE("ids and places of eight bits, beside sizes that eight bits don't hold") {
  const Tensor ids = Tensor::from<int8_t>({0, 1, -1});
  CHECK(message_of<OutOfRange>([&] { ops::segment_sum(ops::ones({3}), ids, 200); }) ==
        "segment_sum: id -1 is outside of [0, 200), the segments.");
  CHECK(ops::segment_sum(ops::ones({2}), ids[Slice(0, 2)], 200).shape() == Shape{200});
  check_same(ops::unravel_index(Tensor::from<uint8_t>({200}), {2, 300})[1],
             Tensor::from<uint8_t>({200}));
  // Indices outside the shape, as in Keras.
  const auto places = ops::unravel_index(Tensor::from<int32_t>({7, -1, -9}), {2, 3});
  check_same(places[0], Tensor::from<int32_t>({0, 1, 1}));
  check_same(places[1], Tensor::from<int32_t>({1, 2, 0}));
}

TEST_CASE("slice and slice_update: by numbers and by tensors") {
  const Tensor x = random_tensor({3, 4});
  const Tensor block = random_tensor({2, 2}, -2, 2, 5);
  check_smooth(
      [](const Inputs& in) {
        return ops::slice_update(in[0], {1, 2}, in[1]);
      },
      {x, block});
  const Tensor start = ints({1, 2}, {2});
  check_smooth([&](const Inputs& in) { return ops::slice_update(in[0], start, in[1]); },
               {x, block});
  check_smooth([&](const Inputs& in) { return ops::slice(in[0], start, {2, 2}); }, {x});
  check_same(ops::slice(ops::slice_update(x, start, block), start, {2, 2}), block);
  // A start given as a tensor is clamped so that the block fits.
  check_same(ops::slice_update(x, ints({9, -5}, {2}), block), ops::slice_update(x, {1, 0}, block));
  CHECK(message_of<InvalidArgument>([&] {
          ops::slice_update(x, {2, 3}, block);
        }) ==
        "slice_update: expected a block within shape (3, 4), got start (2, 3) and updates of shape "
        "(2, 2).");
}

TEST_CASE("slice and slice_update: numbers and tensors in one list") {
  const Tensor x = random_tensor({3, 4, 2});
  const Tensor block = random_tensor({3, 2, 2}, -2, 2, 5);
  const Tensor index = ints({1}, {});
  check_smooth(
      [&](const Inputs& in) {
        return ops::slice_update(in[0], {0, index, 0}, in[1]);
      },
      {x, block});
  check_smooth([&](const Inputs& in) { return ops::slice(in[0], {1, index, 0}, {1, 2, -1}); }, {x});
  check_same(ops::slice_update(x, {0, index, 0}, block), ops::slice_update(x, {0, 1, 0}, block));
  check_same(ops::slice(x, {1, index, 0}, {2, 2, -1}), ops::slice(x, {1, 1, 0}, {2, 2, 2}));
  check_same(ops::slice(x, {index, index, index}, {2, 2, 1}), ops::slice(x, {1, 1, 1}, {2, 2, 1}));
  const Variable position(Tensor::scalar<int64_t>(2));
  const size_t row = 1;
  check_same(ops::slice(x, {row, position, row}, {-1, 1, 1}), ops::slice(x, {1, 2, 1}, {2, 1, 1}));
  // Of a part of an axis that begins at a number.
  const Tensor part = random_tensor({1, 2, 1}, -2, 2, 7);
  check_same(ops::slice_update(x, {2, index, 1}, part), ops::slice_update(x, {2, 1, 1}, part));
  // A tensor is clamped so that the block fits.
  const Tensor far = ints({9}, {});
  check_same(ops::slice_update(x, {0, far, 0}, block), ops::slice_update(x, {0, 2, 0}, block));
  check_same(ops::slice(x, {0, far, 0}, {3, 2, 2}), ops::slice(x, {0, 2, 0}, {3, 2, 2}));
  // A list of numbers alone is what it was.
  check_same(ops::slice(x, {0, 1, 0}, {2, 2, -1}), x(Slice(2), Slice(1, 3)));
}

TEST_CASE("a list of starts that isn't of numbers and scalars, one for each axis") {
  const Tensor x = random_tensor({3, 4});
  const Tensor block = random_tensor({2, 2}, -2, 2, 5);
  const Tensor index = ints({1}, {});
  const auto text_of = [&](std::initializer_list<ops::SliceStart> starts) {
    return message_of<InvalidArgument>([&] { ops::slice_update(x, starts, block); });
  };
  const std::string head =
      "slice_update: expected a block that lies within shape (3, 4), and starts that are numbers "
      "or integer tensors of shape (), got starts ";
  CHECK(text_of({2, index}) == head + "(2, int32 ()) of a block of (2, 2).");
  CHECK(text_of({-1, index}) == head + "(-1, int32 ()) of a block of (2, 2).");
  CHECK(text_of({index}) == head + "(int32 ()) of a block of (2, 2).");
  CHECK(text_of({0, ints({1}, {1})}) == head + "(0, int32 (1,)) of a block of (2, 2).");
  CHECK(text_of({0, Tensor::scalar(1.0f)}) == head + "(0, float32 ()) of a block of (2, 2).");
  CHECK(text_of({0, Tensor()}) == head + "(0, undefined) of a block of (2, 2).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::slice(x, {4, index}, {-1, 5});
        }) ==
        "slice: expected a block that lies within shape (3, 4), and starts that are numbers or "
        "integer tensors of shape (), got starts (4, int32 ()) of a block of (None, 5).");
}

TEST_CASE("what depends on values says so under a trace") {
  auto text_of = [](const OpFunction& f) {
    const Function traced([&](const Inputs& x) { return Inputs{f(x)}; }, {});
    return message_of<FailedPrecondition>([&] { traced.call({ops::ones({2}, DType::Int32)}); });
  };
  auto contains = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const std::string text = text_of([](const Inputs& in) { return ops::nonzero(in[0])[0]; });
  contains(text, "nonzero: the shape of its result depends on values");
  contains(text, "Use ops::where(condition, x1, x2)");
  contains(text_of([](const Inputs& in) { return ops::unique(in[0]); }), "Give it a size");
  contains(text_of([](const Inputs& in) { return ops::bincount(in[0]); }), "Use ops::segment_sum");
  contains(text_of([](const Inputs& in) { return ops::boolean_mask(in[0], in[0] > 0); }),
           "Use ops::where(mask, x, 0)");
}

TEST_CASE("the places of many elements that aren't zero, by axis") {
  for (const Shape& shape : {Shape{50'001}, Shape{3, 20'011}, Shape{20'011, 3},
                             Shape{41, 1, 37, 29}, Shape{5, 0, 2}, Shape{1, 1}}) {
    for (const int64_t every : {1, 2, 7, 1000, 1'000'000}) {
      CAPTURE(fmt::format("{} {}", shape, every));
      std::vector<int64_t> values(static_cast<size_t>(shape.num_elements()));
      std::vector<std::vector<int32_t>> expected(static_cast<size_t>(shape.rank()));
      for (size_t i = 0; i < values.size(); ++i) {
        if ((i + 1) % static_cast<size_t>(every) != 0) continue;
        values[i] = -1;
        auto rest = static_cast<int64_t>(i);
        for (int64_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) {
          expected[static_cast<size_t>(axis)].push_back(static_cast<int32_t>(rest % shape[axis]));
        }
      }
      const std::vector<Tensor> places = ops::nonzero(Tensor::from(values, shape));
      REQUIRE(places.size() == expected.size());
      for (size_t axis = 0; axis < places.size(); ++axis) {
        CHECK(places[axis].to_vector<int32_t>() == expected[axis]);
      }
    }
  }
  CHECK(ops::nonzero(Tensor::scalar(1)).empty());
}

TEST_CASE("nonzero, where, boolean_mask, unique of values") {
  const Tensor x = ints({0, 3, 0, 5, 0, 5}, {2, 3});
  const std::vector<Tensor> places = ops::where(x > 0);
  check_values(places[0], {3}, {0, 1, 1});
  check_values(places[1], {3}, {1, 0, 2});
  check_values(ops::boolean_mask(x, x > 0), {3}, {3, 5, 5});
  check_values(ops::boolean_mask(x, Tensor::from({false, true}, {2})), {1, 3}, {5, 0, 5});
  const Tensor mask = x > 0;
  check_gradients([&](const Inputs& in) { return ops::boolean_mask(in[0], mask); },
                  {random_tensor({2, 3})});
  check_values(ops::unique(x), {3}, {0, 3, 5});
  check_values(ops::unique(ops::zeros({0})), {0}, {});
  const Tensor many = ints({7, 3, 7, 1, 3, 7}, {2, 3});
  for (const bool sorted : {true, false}) {
    const auto found = ops::unique(
        many,
        {.sorted = sorted, .return_index = true, .return_inverse = true, .return_counts = true});
    CAPTURE(sorted);
    using Values = std::vector<double>;
    check_values(found.values, {3}, sorted ? Values{1, 3, 7} : Values{7, 3, 1});
    check_values(found.index, {3}, sorted ? Values{3, 1, 0} : Values{0, 1, 3});
    check_values(found.inverse, {2, 3},
                 sorted ? Values{2, 1, 2, 0, 1, 2} : Values{0, 1, 0, 2, 1, 0});
    check_values(found.counts, {3}, sorted ? Values{1, 2, 3} : Values{3, 2, 1});
  }
  CHECK(message_of<InvalidArgument>([&] { ops::boolean_mask(x, ops::ones({3}, DType::Bool)); }) ==
        "boolean_mask: expected a bool mask of the leading axes of (2, 3), got bool of shape "
        "(3,).");
}

}  // namespace
}  // namespace cornu::testing

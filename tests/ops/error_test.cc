// SPDX-License-Identifier: Apache-2.0
// The messages users get when an op can't do what they ask.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "framework/graph/function.h"
#include "framework/graph/graph.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

template <class F>
std::string invalid(F f) {
  return message_of<InvalidArgument>(f);
}

TEST_CASE("elementwise") {
  CHECK(invalid([] {
          ops::ones({2, 3}) + ops::ones({4});
        }) ==
        "add: expected shapes that can be broadcast together, got (2, 3) and (4,). Axes must be "
        "equal or 1, counted from the last.");
  CHECK(invalid([] { ops::where(ops::ones({2}), ops::ones({3}), 0); }) ==
        "where: select: expected shapes that can be broadcast together, got (2,) and (3,). Axes "
        "must be equal or 1, counted from the last.");
}

// The error of f begins with the op's name, which stands there once.
template <class Kind = InvalidArgument, class F>
void check_named(const std::string& name, F f) {
  const std::string text = message_of<Kind>(f);
  CHECK_MESSAGE(text.starts_with(name + ": "), text);
  CHECK_MESSAGE(text.find(": " + name + ":") == std::string::npos, text);
}

// Ops that are made of others, with operands that one of those refuses.
TEST_CASE("an error begins with the op that was called") {
  const Tensor table = ops::ones({2, 3});
  const Tensor four = ops::ones({4});
  const Tensor words = Tensor::from(std::vector<std::string>{"a", "b"}, {2});
  check_named("vdot", [&] { ops::vdot(table, four); });
  check_named("dot", [&] { ops::dot(table, four); });
  check_named("inner", [&] { ops::inner(table, four); });
  check_named<OutOfRange>("std", [&] { ops::std(table, 5); });
  check_named<OutOfRange>("average", [&] { ops::average(table, 5); });
  check_named<OutOfRange>("moments", [&] { ops::moments(table, {5}); });
  check_named("digitize", [&] { ops::digitize(table, table); });
  check_named("isclose", [&] { ops::isclose(table, four); });
  check_named("logaddexp", [&] { ops::logaddexp(table, four); });
  check_named("heaviside", [&] { ops::heaviside(table, four); });
  check_named("ldexp", [&] { ops::ldexp(table, four); });
  check_named("hstack", [&] { ops::hstack({table, four}); });
  check_named("dstack", [&] { ops::dstack({table, four}); });
  check_named("hsplit", [&] { ops::hsplit(four, 3); });
  check_named<OutOfRange>("array_split", [&] { ops::array_split(table, 2, 5); });
  check_named<OutOfRange>("sort", [&] { ops::sort(table, 5); });
  check_named("in_top_k", [&] { ops::in_top_k(ops::ones({3}, DType::Int32), table, 1); });
  check_named("trace", [&] { ops::trace(four); });
  check_named("det", [&] { ops::det(table); });
  check_named("pinv", [&] { ops::pinv(four); });
  check_named("glu", [&] { ops::glu(table); });
  check_named<OutOfRange>("nanvar", [&] { ops::nanvar(table, 5); });
  check_named<OutOfRange>("count_nonzero", [&] { ops::count_nonzero(table, 5); });
  check_named("segment_sum", [&] { ops::segment_sum(four, four, 2); });
  check_named("sqrt", [&] { ops::sqrt(words); });
  check_named("gelu", [&] { ops::gelu(words); });
  check_named("clip", [&] { ops::clip(words, 0, 1); });
  check_named("outer", [&] { ops::outer(table, words); });
  check_named("subtract", [&] { table - words; });
}

TEST_CASE("an op that becomes a layer of a functional model is named once") {
  const std::string text = message_of<OutOfRange>([] { ops::median(Input({.shape = {3}}), 9); });
  CHECK(text.starts_with("Median 'median': median: expected an axis in"));
}

TEST_CASE("undefined tensors") {
  auto text = [](auto f) { return message_of<FailedPrecondition>(f); };
  const Tensor none;
  const char* rest = ": expected a tensor, got an undefined one.";
  CHECK(text([&] { ops::exp(none); }) == std::string("exp") + rest);
  CHECK(text([&] { none + 1; }) == std::string("add") + rest);
  CHECK(text([&] { ops::reshape(none, {1}); }) == std::string("reshape") + rest);
  CHECK(text([&] { ops::sum(none); }).ends_with(rest));
  CHECK(text([&] { ops::max(none); }) == std::string("max") + rest);
  CHECK(text([&] { ops::argmin(none, 0); }) == std::string("argmin") + rest);
  CHECK(text([&] { ops::matmul(none, none); }) == std::string("matmul") + rest);
  CHECK(text([&] { ops::concatenate({none}); }) == std::string("concatenate") + rest);
  CHECK(text([&] { ops::relu(none); }).ends_with(rest));
}

TEST_CASE("operators") {
  const Tensor x = Tensor::from({1.0f, 2.0f});
  CHECK(invalid([&] { x& x; }) ==
        "operator &: expected bools or integers, got float32 of shape (2,). Compare first, as in "
        "`(x > 0) & (y "
        "> 0)`.");
  CHECK(invalid([&] { x ^ 2; }) ==
        "operator ^: expected bools or integers, got float32 of shape (2,). It is the exclusive "
        "or; for powers "
        "call ops::power(x, y).");
}

TEST_CASE("matmul, conv and pool") {
  CHECK(invalid([] {
          ops::matmul(ops::ones({32, 784}), ops::ones({100, 10}));
        }) ==
        "matmul: expected inner axes of equal size, got (32, 784) and (100, 10): 784 != 100. "
        "Should one of them be transposed?");
  CHECK(invalid([] {
          ops::matmul(ops::ones({2, 3, 4}), ops::ones({3, 4, 5}));
        }).find("matmul: expected shapes that can be broadcast together, got (2,) and (3,)") == 0);
  CHECK(invalid([] {
          ops::conv(ops::ones({28, 28}), ops::ones({3, 3, 1, 8}));
        }) ==
        "conv: expected an input (batch, spatial…, channels) and a kernel (spatial…, channels, "
        "filters) of 1 to 3 spatial axes, got (28, 28) and (3, 3, 1, 8).");
  CHECK(invalid([] {
          ops::conv(ops::ones({1, 2, 2, 1}), ops::ones({3, 3, 1, 8}));
        }) ==
        "conv: expected an input at least as large as the kernel's window, got (1, 2, 2, 1) for "
        "kernel (3, 3, 1, 8). Use padding \"same\" or a larger input.");
  CHECK(invalid([] {
          ops::conv(ops::ones({1, 5, 5, 3}), ops::ones({3, 3, 2, 8}));
        }) ==
        "conv: expected a kernel for 3 channels (or an equal part of them for each group), got "
        "kernel (3, 3, 2, 8).");
  CHECK(invalid([] {
          ops::conv(ops::ones({1, 5, 5, 1}), ops::ones({3, 3, 1, 8}), {.strides = 0});
        }) == "conv: expected strides of at least 1, got (0, 0).");
  CHECK(invalid([] {
          ops::conv(ops::ones({1, 5, 5, 1}), ops::ones({3, 3, 1, 8}), {.strides = {1, 1, 1}});
        }) == "conv: expected strides of 2 numbers, one for each spatial axis, got (1, 1, 1).");
  CHECK(Padding("SAME").is_same());
  CHECK(Padding("Valid").is_valid());
  CHECK(invalid([] { Padding("smae"); }) ==
        "Unknown padding 'smae'. Did you mean 'same'? Known: valid, same.");
  CHECK(invalid([] {
          ops::max_pool(ops::ones({1, 2, 2, 1}), 3);
        }).find("max_pool: expected an input at least as large as the window, got (1, 2, 2, 1)") ==
        0);
  CHECK(invalid([] {
          ops::average_pool(ops::ones({1, 4, 4, 1}), 2, {.padding = Padding({{2, 0}, {0, 0}})});
        }).find("average_pool: expected a padding from 0 and smaller than the window (2, 2)") == 0);
  CHECK(invalid([] {
          ops::conv_transpose(ops::ones({1, 4, 4, 2}), ops::ones({3, 3, 2, 3}));
        }).find("conv_transpose: expected an input (batch, spatial…, channels) and a kernel") == 0);
}

TEST_CASE("vectors of batch_normalization") {
  const Tensor x = ops::ones({2, 3}), v = ops::ones({3}), one = ops::ones({1});
  const char* text = "batch_normalization: expected vectors of 3 elements, got shape (1,).";
  CHECK(invalid([&] { ops::batch_normalization(x, one, v); }) == text);
  CHECK(invalid([&] { ops::batch_normalization(x, v, v, -1, {.scale = one}); }) == text);
  CHECK(invalid([&] { ops::batch_normalization(x, v, v, -1, {.offset = one}); }) == text);
}

TEST_CASE("axes") {
  CHECK(message_of<OutOfRange>([] {
          ops::sum(ops::ones({2, 3}), 2);
        }) == "sum: expected an axis in [-2, 2) for shape (2, 3), got 2.");
  CHECK(invalid([] {
          ops::max(ops::ones({2, 3}), {1, -1});
        }) == "max: expected different axes, got axis 1 of shape (2, 3) twice.");
  CHECK(message_of<OutOfRange>([] { ops::softmax(ops::ones({2}), 1); }).find("softmax: ") == 0);
  CHECK(invalid([] {
          ops::argmax(Tensor::empty({0, 3}, DType::Float32), 0);
        }) == "argmax: expected elements along axis 0, got shape (0, 3).");
}

TEST_CASE("shapes") {
  CHECK(invalid([] {
          ops::reshape(ops::ones({28, 28}), {28, 27});
        }) == "reshape: expected a shape of 784 elements, as (28, 28) has, got (28, 27).");
  CHECK(invalid([] {
          ops::reshape(ops::ones({4}), {-1, 3});
        }) == "reshape: expected a shape of 4 elements, as (4,) has, got (None, 3).");
  CHECK(invalid([] {
          ops::reshape(ops::ones({4}), {-1, -1});
        }).find("reshape: expected at most one unknown axis (-1), got (None, None)") == 0);
  CHECK(invalid([] {
          ops::concatenate({ops::ones({2, 3}), ops::ones({3, 3})}, 1);
        }) == "concatenate: expected shapes that differ at axis 1 only, got (2, 3) and (3, 3).");
  CHECK(invalid([] {
          ops::concatenate({ops::ones({64, 8}), ops::ones({8, 28, 28, 1})}, 1);
        }) ==
        "concatenate: expected tensors of one number of axes, to be joined at axis 1, got (64, 8) "
        "and (8, 28, 28, 1). Reshape one of them, or use expand_dims.");
  CHECK(invalid([] { ops::concatenate({}); }) ==
        "concatenate: expected at least one tensor, got none.");
  CHECK(invalid([] {
          ops::split(ops::ones({5}), 2);
        }).find("split: expected a number of equal parts of axis 0 of shape (5,), got 2.") == 0);
  constexpr int64_t kMany = 1 << 21;
  CHECK(invalid([] { ops::split(ops::ones({0}), kMany); }) ==
        "split: expected at most 1048576 parts, got 2097152.");
  CHECK(invalid([] { ops::array_split(ops::ones({5}), kMany); }) ==
        "array_split: expected at most 1048576 parts, got 2097152.");
  CHECK(invalid([] { ops::unstack(ops::ones({kMany})); }) ==
        "unstack: expected at most 1048576 parts, got 2097152.");
  CHECK(invalid([] { ops::diff(ops::ones({kMany}), kMany); }) ==
        "diff: expected at most 1048576 differences of differences, got 2097152.");
  CHECK(invalid([] {
          ops::broadcast_to(ops::ones({3}), {2, 4});
        }).find("broadcast_to: expected a shape that (3,) can be broadcast to") == 0);
  CHECK(invalid([] {
          ops::squeeze(ops::ones({2, 1}), 0);
        }) == "squeeze: expected axes of size 1, got axis 0 of shape (2, 1).");
  CHECK(invalid([] { ops::slice(ops::ones({4}), {2}, {3}); }) ==
        "slice: expected a part of shape (4,), got begin (2,), size (3,) and strides (1,).");
  CHECK(invalid([] {
          ops::transpose(ops::ones({2, 3}), {0});
        }) == "transpose: expected a permutation of 2 axes for shape (2, 3), got (0,).");
  CHECK(invalid([] {
          ops::pad(ops::ones({2, 3}), {{1, 1}});
        }) == "pad: expected 2 pairs for shape (2, 3), got 1.");
}

TEST_CASE("indices") {
  const Tensor x = ops::ones({3, 2});
  const std::string beyond = message_of<OutOfRange>([&] {
    ops::take(x, Tensor::from(std::vector<int32_t>{0, 3}), 0);
  });
  CHECK(beyond ==
        "take: index 3 is outside of [-3, 3), axis 0 of shape (3, 2). Negative indices count from "
        "the end.");
  CHECK(message_of<OutOfRange>([&] {
          ops::take(x, Tensor::from(std::vector<int32_t>{-4}), 0);
        }).starts_with("take: index -4 is outside of [-3, 3)"));
  CHECK(message_of<OutOfRange>([&] { x[3]; }) ==
        "get_item: index 3 is outside of [-3, 3), axis 0 of shape (3, 2).");
  CHECK(message_of<OutOfRange>([&] { x(0, 1, 0); }) ==
        "get_item: expected at most 2 indices for shape (3, 2), got 3.");
  CHECK(message_of<OutOfRange>([&] {
          x(Tensor({0, 1}), Tensor({1, 2}));
        }).starts_with("take: index 6 is outside"));
  CHECK(invalid([&] {
          x[Tensor({true, false})];
        }) == "get_item: expected a mask of shape (3,), the axes from 0 on of (3, 2), got (2,).");
  CHECK(invalid([&] { x(ellipsis, ellipsis); }) ==
        "get_item: expected at most one ellipsis, got 2.");
  CHECK(invalid([&] { x[Slice(0, 1, 0)]; }) == "get_item: expected a step other than 0, got 0.");
  CHECK(message_of<OutOfRange>([&] {
          ops::segment_sum(x, {0, -1, 1}, 2);
        }) == "segment_sum: id -1 is outside of [0, 2), the segments.");
  CHECK(invalid([&] { ops::take(x, ops::ones({2}), 0); }) ==
        "take: expected indices of an integer dtype, got float32 of shape (2,). Cast them first, "
        "for example with ops::cast(x, DType::Int32).");
}

TEST_CASE("cross-entropies") {
  CHECK(invalid([] {
          ops::sparse_categorical_crossentropy(Tensor::from(std::vector<int32_t>{12}),
                                               ops::ones({1, 10}), {.from_logits = true});
        }).find("sparse_softmax_cross_entropy: label 12 of row 0 is outside of [0, 10)") == 0);
  CHECK(invalid([] {
          ops::binary_crossentropy(ops::ones({4}), ops::ones({4, 1}));
        }) ==
        "binary_crossentropy: expected a target of the output's shape (4, 1), got (4,). Reshape "
        "one, for example with ops::expand_dims(target, -1).");
  CHECK(invalid([] {
          ops::categorical_crossentropy(ops::ones({4}), ops::ones({4, 3}));
        })
            .find("categorical_crossentropy: expected a target of the output's shape (4, 3), got "
                  "(4,). Use sparse_categorical_crossentropy") == 0);
}

TEST_CASE("graphs from text are checked as calls are") {
  auto read = [](const std::string& node) {
    parse_graph("graph(%0: float32[2,3], %1: int32[2]) {\n  " + node + "\n  return %2\n}\n");
  };
  const char* wrong[] = {
      "%2 = add(%0) : float32[2,3]",
      "%2 = add(%0, %1) : float32[2,3]",
      "%2 = exp(%1) : int32[2]",
      "%2 = reduce_sum(%0) {axes=[2], keepdims=false} : float32[2]",
      "%2 = reduce_sum(%0) {axes=[1,0], keepdims=false} : float32[]",
      "%2 = transpose(%0) {permutation=[0,0]} : float32[2,2]",
      "%2 = slice(%0) {begin=[0,0], size=[3,3], strides=[1,1]} : float32[3,3]",
      "%2 = slice(%0) {begin=[2,0], size=[1,3], strides=[2,1]} : float32[1,3]",
      "%2 = broadcast_to(%0) {shape=[4611686018427387904,2,3]} : float32[4611686018427387904,2,3]",
      "%2 = gather(%0, %1) {axis=7} : float32[2]",
      "%2 = softmax(%0) {axis=-1} : float32[2,3]",
      "%2 = argmax(%0) {axis=2} : int32[2]",
  };
  for (const char* node : wrong) {
    INFO(node);
    bool refused = false;
    try {
      read(node);
    } catch (const InvalidArgument&) {
      refused = true;
    }
    CHECK(refused);
  }
  read("%2 = reduce_sum(%0) {axes=[1], keepdims=false} : float32[2]");
}

TEST_CASE("sizes whose products or sums leave int64") {
  constexpr int64_t kHuge = int64_t{1} << 62;
  constexpr int64_t kWide = int64_t{1} << 32;
  const Tensor image = ops::ones({1, 4, 4, 1});
  const Tensor kernel = ops::ones({5, 5, 1, 1});
  CHECK(invalid([&] { ops::conv(image, kernel, {.padding = "same", .dilation_rate = kHuge}); }) ==
        "conv: expected sizes whose product fits 64 bits, got 4 * 4611686018427387904.");
  CHECK(invalid([&] { ops::conv(image, kernel, {.dilation_rate = kHuge}); }) ==
        "conv: expected sizes whose product fits 64 bits, got 4 * 4611686018427387904.");
  CHECK(invalid([&] { ops::conv_transpose(image, kernel, {.dilation_rate = kHuge}); }) ==
        "conv_transpose: expected sizes whose product fits 64 bits, got 4 * "
        "4611686018427387904.");
  CHECK(invalid([&] { ops::conv_transpose(image, kernel, {.strides = kHuge}); }) ==
        "conv_transpose: expected sizes whose product fits 64 bits, got 3 * "
        "4611686018427387904.");
  CHECK(invalid([&] {
          ops::max_pool(image, {kHuge + 1, kHuge + 1},
                        {.strides = 1, .padding = Padding::Pairs{{kHuge, kHuge}, {kHuge, kHuge}}});
        }) ==
        "max_pool: expected sizes whose sum fits 64 bits, got 4611686018427387904 + "
        "4611686018427387904.");
  CHECK(invalid([&] {
          ops::max_pool(image, {kWide, kWide}, {.padding = "same"});
        }) == "max_pool: expected sizes whose product fits 64 bits, got 4294967296 * 4294967296.");
  CHECK(invalid([&] {
          ops::reshape(image, {kWide, kWide, -1});
        }) == "reshape: expected sizes whose product fits 64 bits, got 4294967296 * 4294967296.");
  CHECK(invalid([&] { ops::repeat(image, kHuge, 1); }) ==
        "repeat: expected sizes whose product fits 64 bits, got 4 * 4611686018427387904.");
  CHECK(invalid([&] {
          ops::tile(image, {1, kHuge, 1, 1});
        }) == "tile: expected sizes whose product fits 64 bits, got 4611686018427387904 * 4.");
}

TEST_CASE("places and shapes whose numbers leave int64") {
  constexpr int64_t kHuge = int64_t{1} << 62;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const Tensor image = ops::ones({1, 1, 4, 4});
  CHECK(invalid([&] { ops::unfold(image, 2, {.dilation = kHuge, .padding = kHuge}); }) ==
        "unfold: expected sizes whose product fits 64 bits, got 2 * 4611686018427387904.");
  CHECK(invalid([&] {
          ops::fold(ops::ones({1, 4, 9}), 1'000'000'000'000, 2);
        }) ==
        "fold: expected sizes whose product fits 64 bits, got 1000000000000 * 1000000000000.");
  CHECK(invalid([&] {
          ops::fold(ops::ones({1, 4, 9}), 4, kHuge);
        }) ==
        "fold: expected sizes whose product fits 64 bits, got 4611686018427387904 * "
        "4611686018427387904.");
  const Tensor x = ops::ones({3, 3});
  CHECK(invalid([&] {
          ops::slice(x, {kMin, 0}, {kUnknown, 1});
        }) == "slice: expected sizes whose difference fits 64 bits, got 3 - -9223372036854775808.");
  CHECK(invalid([&] { ops::slice_axis(x, 0, kMin, kMax); }) ==
        "slice_axis: expected sizes whose difference fits 64 bits, got 9223372036854775807 - "
        "-9223372036854775805.");
  CHECK(invalid([&] {
          ops::roll(x, Axes{kMax, 1});
        }) == "roll: expected sizes whose sum fits 64 bits, got 9223372036854775807 + 1.");
  CHECK(invalid([&] { ops::diag(ops::ones({3}), kMin); }) ==
        "diag: expected sizes whose difference fits 64 bits, got 0 - -9223372036854775808.");
  CHECK(invalid([&] { ops::triu(x, kMin); }) ==
        "triu: expected sizes whose difference fits 64 bits, got -9223372036854775808 - 1.");
  CHECK(invalid([&] { ops::histogram(x, {.bins = kMax}); }) ==
        "histogram: expected sizes whose sum fits 64 bits, got 9223372036854775807 + 1.");
  CHECK(invalid([&] { random::randint({2}, kMin, kMax); }) ==
        "randint: expected sizes whose difference fits 64 bits, got 9223372036854775807 - "
        "-9223372036854775808.");
  // The tensor is empty, but its sizes count anyway.
  const Tensor none = ops::zeros({0, kHuge, 1, 4});
  CHECK(invalid([&] { ops::depth_to_space(none, 2); }) ==
        "depth_to_space: expected sizes whose product fits 64 bits, got 4611686018427387904 * 2.");
}

TEST_CASE("a window much larger than its input") {
  constexpr int64_t kTall = int64_t{1} << 40;
  const Tensor image = ops::reshape(ops::arange(16, DType::Float32), {1, 4, 4, 1});
  for (const Sizes& window : {Sizes{kTall, 1 << 20}, Sizes{1 << 20, kTall}}) {
    CHECK(ops::max_pool(image, window, {.padding = "same"}).item<float>() == 15);
    CHECK(ops::average_pool(image, window, {.padding = "same"}).item<float>() == 7.5f);
  }
}

TEST_CASE("transforms of images") {
  const Tensor images = ops::ones({2, 4, 4, 1});
  const auto error = [&](const Tensor& x, const Shape& transform,
                         const ops::image::AffineTransformOptions& options = {}) {
    return invalid([&] { ops::image::affine_transform(x, ops::zeros(transform), options); });
  };
  CHECK(error(ops::ones({4, 4}), {8}) ==
        "affine_transform: expected images (height, width, channels) or (batch, height, width, "
        "channels), got shape (4, 4).");
  CHECK(error(images, {3, 8}) ==
        "affine_transform: expected a transform of shape (8,), or (2, 8) for one each, got (3, "
        "8).");
  CHECK(error(images, {8}, {.interpolation = "bicubic"}) ==
        "affine_transform: unknown interpolation 'bicubic'. Known: bilinear, nearest.");
  CHECK(error(images, {8}, {.fill_mode = "wrapp"}) ==
        "affine_transform: unknown fill_mode 'wrapp'. Did you mean 'wrap'? Known: constant, "
        "nearest, wrap, reflect.");
  CHECK(error(images, {8}, {.data_format = "first"}).find("unknown data_format 'first'.") !=
        std::string::npos);
  CHECK(ops::image::affine_transform(ops::ones({0, 4, 4, 1}), ops::zeros({0, 8})).shape() ==
        Shape{0, 4, 4, 1});
}

TEST_CASE("every op has what it needs") {
  const OpRegistry& registry = OpRegistry::global();
  for (const std::string& name : registry.names()) {
    INFO(name);
    CHECK(static_cast<bool>(registry.at(name).infer));
    CHECK_FALSE((registry.at(name).vjp && !registry.at(name).traits.differentiable));
  }
}

TEST_CASE("numbers in messages are those that were given") {
  const auto bins = [](int64_t most) {
    return message_of<InvalidArgument>([=] { ops::bincount(Tensor::from<int64_t>({1, most})); });
  };
  CHECK(bins(int64_t{1} << 50) ==
        "bincount: expected integers below 2^48, as there is a bin for each number from 0, got "
        "1125899906842624.");
  CHECK(bins(INT64_MAX) ==
        "bincount: expected integers below 2^48, as there is a bin for each number from 0, got "
        "9223372036854775807.");
  CHECK(message_of<OutOfRange>([] {
          ops::take(ops::ones({3}), Tensor::from<uint64_t>({~uint64_t{0}}), 0);
        }).find("take: index 18446744073709551615 is outside of [-3, 3)") == 0);
  CHECK(message_of<InvalidArgument>([] {
          ops::slice_update(ops::ones({3, 2}), {-1, 0}, ops::ones({1, 2}));
        }) ==
        "slice_update: expected a block within shape (3, 2), got start (-1, 0) and updates of "
        "shape (1, 2).");
  CHECK(message_of<InvalidArgument>([] {
          ops::unique(Tensor::from<int32_t>({1, 2}), {.size = -2});
        }) == "unique: expected a size from 0, got -2.");
}

TEST_CASE("tables that no memory holds are refused before they are filled") {
  constexpr int64_t kHuge = int64_t{1} << 58;
  const auto refused = [](const std::function<void()>& f) {
    return message_of<ResourceExhausted>(f).find("Out of memory") != std::string::npos;
  };
  CHECK(refused([] { ops::bartlett(kHuge); }));
  CHECK(refused([] { ops::blackman(kHuge); }));
  CHECK(refused([] { ops::hamming(kHuge); }));
  CHECK(refused([] { ops::hanning(kHuge); }));
  CHECK(refused([] { ops::kaiser(kHuge, 14); }));
  CHECK(refused([] { ops::repeat(ops::ones({2}), {1, kHuge}, 0); }));
}

TEST_CASE("a placeholder of unknown sizes that a traced function uses") {
  const Tensor outside = Input({.shape = {3}, .name = "outside"});
  const auto traced = function([&](const Tensor& x) { return x + ops::tile(outside, {2, 1}); });
  CHECK(message_of<FailedPrecondition>([&] {
          traced(ops::ones({2, 3}));
        })
            .find("tile: a function being traced uses Tensor(shape=(None, 3), dtype=float32, a "
                  "placeholder (the output of InputLayer 'outside')). Pass it as an argument.") !=
        std::string::npos);
}

TEST_CASE("undefined tensors are told by the op that was called") {
  const Tensor none;
  const auto refused = [](const std::function<void()>& f) {
    return message_of<FailedPrecondition>(f);
  };
  CHECK(refused([&] { ops::max_pool(none, 2); }) ==
        "max_pool: expected a tensor, got an undefined one.");
  CHECK(refused([&] { ops::adaptive_max_pool(none, 2); }) ==
        "adaptive_max_pool: expected a tensor, got an undefined one.");
  CHECK(refused([&] { ops::map([](const Tensor& x) { return x; }, none); }) ==
        "map: expected a tensor, got an undefined one.");
  CHECK(refused([&] { ops::space_to_depth(none, 2); }) ==
        "space_to_depth: expected a tensor, got an undefined one.");
  CHECK(refused([&] { ops::scatter(none, ops::ones({2}), {4}); }) ==
        "scatter: expected a tensor, got an undefined one.");
  CHECK(refused([&] { ops::image::rgb_to_hsv(none); }) ==
        "rgb_to_hsv: expected a tensor, got an undefined one.");
  CHECK(refused([&] { ops::get_item(none, {0}); }) ==
        "get_item: expected a tensor, got an undefined one.");
}

}  // namespace
}  // namespace cornu::testing

// SPDX-License-Identifier: Apache-2.0
// Ops on placeholders with axes of unknown size, as in functional models.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/ops/ops.h"
#include "framework/train/model.h"

namespace cornu::test {

struct OpenCase {
  using Op = std::function<Tensor(const std::vector<Tensor>&)>;

  std::string name;
  Op op;
  std::vector<Shape> shapes;  // of the inputs; the first axis is the batch axis
  Shape expected;             // of the output
};

// A case for an op of one tensor.
inline OpenCase open_case(const std::string& name, const std::function<Tensor(const Tensor&)>& op,
                          const Shape& shape, const Shape& expected) {
  return {name, [op](const std::vector<Tensor>& x) { return op(x[0]); }, {shape}, expected};
}

inline constexpr int64_t kAny = kUnknown;
inline const Shape kSequences = {kAny, kAny, 4};
inline const Shape kPictures = {kAny, kAny, kAny, 4};

// Ops that rearrange elements.
inline std::vector<OpenCase> rearranging_cases() {
  using T = const Tensor&;
  return {
      open_case("expand_dims",
                [](T x) {
                  return ops::expand_dims(x, {-1, 1});
                },
                kSequences, {kAny, 1, kAny, 4, 1}),
      open_case(
          "squeeze", [](T x) { return ops::squeeze(ops::expand_dims(x, 1), 1); }, kSequences,
          kSequences),
      open_case("newaxis", [](T x) { return x(Slice(), newaxis, ellipsis, newaxis); }, kSequences,
                {kAny, 1, kAny, 4, 1}),
      open_case("stack",
                [](T x) {
                  return ops::stack({x, x * 2, -x}, 2);
                },
                kSequences, {kAny, kAny, 3, 4}),
      open_case(
          "vstack",
          [](T x) {
            return ops::vstack({x, x * 2});
          },
          kSequences, kSequences),
      open_case(
          "hstack",
          [](T x) {
            return ops::hstack({x, x * 2});
          },
          kSequences, kSequences),
      open_case("dstack",
                [](T x) {
                  return ops::dstack({x, x * 2});
                },
                {kAny, kAny}, {kAny, kAny, 2}),
      open_case("tile",
                [](T x) {
                  return ops::tile(x, {1, 2, 3});
                },
                kSequences, {kAny, kAny, 12}),
      open_case("tile_more",
                [](T x) {
                  return ops::tile(x, {2, 1, 1, 1});
                },
                kSequences, {2, kAny, kAny, 4}),
      open_case(
          "repeat", [](T x) { return ops::repeat(x, 3, 1); }, kSequences, kSequences),
      open_case("repeat_flat", [](T x) { return ops::repeat(x, 2); }, kSequences, {kAny}),
      open_case(
          "roll",
          [](T x) {
            return ops::roll(x, {1, -2}, {1, 2});
          },
          kSequences, kSequences),
      open_case(
          "roll_flat", [](T x) { return ops::roll(x, 3); }, kSequences, kSequences),
      open_case(
          "split", [](T x) { return ops::split(x, 2, 1)[1]; }, kSequences, kSequences),
      open_case("split_all", [](T x) { return ops::stack(ops::split(x, 2, -2)); }, kSequences,
                {2, kAny, kAny, 4}),
      open_case(
          "array_split", [](T x) { return ops::array_split(x, 3, 1)[0]; }, kSequences, kSequences),
      open_case("unstack", [](T x) { return ops::unstack(x, -1)[2]; }, kSequences, {kAny, kAny}),
  };
}

// Ops that return parts of a tensor or extend it.
inline std::vector<OpenCase> cutting_cases() {
  using T = const Tensor&;
  return {
      open_case(
          "tril", [](T x) { return ops::tril(x, -1); }, kSequences, kSequences),
      open_case(
          "triu", [](T x) { return ops::triu(x); }, kPictures, kPictures),
      open_case("diagonal", [](T x) { return ops::diagonal(x, {.axis1 = 1, .axis2 = 2}); },
                kPictures, {kAny, 4, kAny}),
      open_case(
          "reflect",
          [](T x) {
            return ops::pad(x, {{0, 0}, {1, 2}, {3, 0}, {0, 0}}, {.mode = "reflect"});
          },
          kPictures, kPictures),
      open_case("symmetric",
                [](T x) {
                  return ops::pad(x, {{0, 0}, {1, 2}, {0, 1}}, {.mode = "symmetric"});
                },
                kSequences, {kAny, kAny, 5}),
      open_case("depth_to_space", [](T x) { return ops::depth_to_space(x, 2); }, kPictures,
                {kAny, kAny, kAny, 1}),
      open_case("space_to_depth", [](T x) { return ops::space_to_depth(x, 2); }, kPictures,
                {kAny, kAny, kAny, 16}),
  };
}

// Slices, some of which reach beyond the axis.
inline std::vector<OpenCase> slicing_cases() {
  std::vector<OpenCase> cases;
  const auto add = [&](const char* name, const Slice& slice) {
    cases.push_back(open_case(
        name, [slice](const Tensor& x) { return x(Slice(), slice); }, kSequences, kSequences));
  };
  add("first", Slice({}, 5));
  add("behind", Slice(6, {}));
  add("within", Slice(1, 7, 2));
  add("between", Slice(-3, -1));
  add("inner", Slice(1, -1));
  add("every_tenth", Slice({}, {}, 10));
  add("turned", Slice(4, 0, -1));
  add("last", Slice(-6, {}));
  cases.push_back(open_case(
      "slice_axis", [](const Tensor& x) { return ops::slice_axis(x, 1, 1, -1); }, kSequences,
      kSequences));
  return cases;
}

// Ops that compute.
inline std::vector<OpenCase> computing_cases() {
  using T = const Tensor&;
  return {
      open_case(
          "diff", [](T x) { return ops::diff(x, 1, 1); }, kSequences, kSequences),
      open_case(
          "diff_twice", [](T x) { return ops::diff(x, 2, 1); }, kSequences, kSequences),
      open_case(
          "cumprod", [](T x) { return ops::cumprod(x, 1); }, kSequences, kSequences),
      open_case("median", [](T x) { return ops::median(x, 1); }, kSequences, {kAny, 4}),
      open_case("quantile",
                [](T x) {
                  return ops::quantile(x, Tensor{0.2, 0.7}, {.axis = 1, .keepdims = true});
                },
                kSequences, {2, kAny, 1, 4}),
      open_case("trapezoid", [](T x) { return ops::trapezoid(x, {.dx = 0.5, .axis = 1}); },
                kSequences, {kAny, 4}),
      open_case(
          "sparsemax", [](T x) { return ops::sparsemax(x, 1); }, kSequences, kSequences),
  };
}

// Products, and sums of windows and of segments.
inline std::vector<OpenCase> summing_cases() {
  using T = const Tensor&;
  using Inputs = const std::vector<Tensor>&;
  const Tensor kernel = ops::cos(ops::reshape(ops::arange(48.0), {2, 2, 3, 4}));
  const Tensor filter = ops::reshape(kernel, {2, 2, 4, 3});
  const Tensor matrix = ops::reshape(ops::sin(ops::arange(12.0)), {4, 3});
  return {
      open_case("tensordot", [=](T x) { return ops::tensordot(x, matrix, 1); }, kPictures,
                {kAny, kAny, kAny, 3}),
      {"outer_dot",
       [](Inputs x) { return ops::tensordot(x[0], x[1], {2}, {2}); },
       {kSequences, kSequences},
       {kAny, kAny, kAny, kAny}},
      {"gram",
       [](Inputs x) {
         return ops::einsum("bijc,bijd->bcd", {x[0], x[1]});
       },
       {kPictures, kPictures},
       {kAny, 4, 4}},
      {"scores",
       [](Inputs x) {
         return ops::einsum("btd,bsd->bts", {x[0], x[1]});
       },
       {kSequences, kSequences},
       {kAny, kAny, kAny}},
      {"summed",
       [](Inputs x) {
         return ops::einsum("btd,bsd->bs", {x[0], x[1]});
       },
       {kSequences, kSequences},
       {kAny, kAny}},
      {"segment_sum",
       [](Inputs x) {
         const Tensor ids = ops::cast(x[1](Slice(), 0) > 0, DType::Int32);
         return ops::segment_sum(x[0], ids, 2);
       },
       {kSequences, {kAny, 1}},
       {2, kAny, 4}},
      open_case("cdist", [](T x) { return ops::cdist(x, x * 0.5 + 1); }, kSequences,
                {kAny, kAny, kAny}),
      open_case("conv",
                [=](T x) { return ops::conv(x, filter, {.strides = 2, .padding = "same"}); },
                kPictures, {kAny, kAny, kAny, 3}),
      open_case(
          "conv_transpose",
          [=](T x) { return ops::conv_transpose(x, kernel, {.strides = 2, .padding = "same"}); },
          kPictures, {kAny, kAny, kAny, 3}),
      open_case(
          "max_pool", [](T x) { return ops::max_pool(x, 3, {.padding = "same"}); }, kPictures,
          kPictures),
      open_case("adaptive",
                [](T x) {
                  return ops::adaptive_average_pool(x, {3, 2});
                },
                kPictures, {kAny, 3, 2, 4}),
      {"take_along_axis",
       [](Inputs x) {
         const Tensor places = ops::cast(ops::round(ops::abs(x[1])), DType::Int32);
         return ops::take_along_axis(x[0], ops::minimum(places, 3), 1);
       },
       {kSequences, {kAny, 2, 1}},
       {kAny, 2, 4}},
      open_case(
          "multiplied_mask",
          [](T x) { return x * ops::expand_dims(ops::cast(x(ellipsis, 0) > 0, x.dtype()), -1); },
          kSequences, kSequences),
  };
}

inline std::vector<OpenCase> open_cases() {
  std::vector<OpenCase> all = rearranging_cases();
  for (const auto& more : {cutting_cases(), slicing_cases(), computing_cases(), summing_cases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

inline Model open_model(const OpenCase& item) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : item.shapes) inputs.push_back(Input({.batch_shape = shape}));
  return Model(Tensors(inputs), item.op(inputs));
}

// Inputs for a batch of `batch` examples whose other unknown axes have size `size`.
inline std::vector<Tensor> open_inputs(const OpenCase& item, int64_t batch, int64_t size) {
  std::vector<Tensor> result;
  for (Shape shape : item.shapes) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == kUnknown) shape[axis] = axis == 0 ? batch : size;
    }
    result.push_back(random::normal(shape, {.seed = 7 + static_cast<int64_t>(result.size())}));
  }
  return result;
}

}  // namespace cornu::test

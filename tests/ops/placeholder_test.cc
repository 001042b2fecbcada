// SPDX-License-Identifier: Apache-2.0
// Ops called on placeholders with unknown axes, as in functional models.
#include <doctest/doctest.h>

#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

// Represents a functional model: records ops and infers their types. Its placeholders own it, and
// it owns them until forget(), which Recording calls.
class Recorder : public Tracer, public std::enable_shared_from_this<Recorder> {
 public:
  Tensor input(const Shape& shape, DType dtype = DType::Float64) {
    return Tensor::symbol(shared_from_this(), next_++, shape, dtype);
  }
  std::string describe(int64_t) const override { return "a placeholder"; }

  std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) override {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) types.push_back(type_of(input));
    const auto outputs = infer_types(
        types, [&](const Inputs& symbols) { return cornu::apply(op, symbols, attributes); });
    Step step{&op, inputs, attributes, {}};
    for (const TensorType& type : outputs) step.outputs.push_back(input(type.shape, type.dtype));
    steps_.push_back(step);
    return step.outputs;
  }

  // Returns `result` when the placeholders have these values, in the order of their creation.
  Tensor value_of(const Tensor& result, const Inputs& placeholders, const Inputs& values) const {
    std::vector<Tensor> by_symbol(static_cast<size_t>(next_));
    auto value = [&](const Tensor& t) -> Tensor& {
      return by_symbol[static_cast<size_t>(t.symbol_id())];
    };
    for (size_t i = 0; i < values.size(); ++i) value(placeholders[i]) = values[i];
    for (const Step& step : steps_) {
      Inputs operands;
      for (const Tensor& t : step.inputs) operands.push_back(t.is_symbolic() ? value(t) : t);
      const auto outputs = cornu::apply(*step.op, operands, step.attributes);
      for (size_t i = 0; i < outputs.size(); ++i) value(step.outputs[i]) = outputs[i];
    }
    return value(result);
  }

  void forget() { steps_.clear(); }

 private:
  struct Step {
    const OpDef* op;
    Inputs inputs;
    Attributes attributes;
    Inputs outputs;
  };
  int64_t next_ = 0;
  std::vector<Step> steps_;
};

// A Recorder that forgets its ops on destruction.
class Recording {
 public:
  ~Recording() { recorder_->forget(); }
  Recorder* operator->() const { return recorder_.get(); }

 private:
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
};

// Calls f on placeholders of these shapes, and compares the result with f on values, for two sizes
// of the unknown axes.
void check_placeholders(const OpFunction& f, const std::vector<Shape>& shapes,
                        const Shape& expected) {
  const Recording recorder;
  Inputs placeholders;
  for (const Shape& shape : shapes) placeholders.push_back(recorder->input(shape));
  const Tensor result = f(placeholders);
  CHECK(result.shape().to_string() == expected.to_string());
  for (const int64_t size : {2, 5}) {
    Inputs values;
    for (Shape shape : shapes) {
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == kUnknown) shape[axis] = size;
      }
      values.push_back(random_tensor(shape, -2, 2, 3 + values.size()));
    }
    check_same(recorder->value_of(result, placeholders, values), f(values), 1e-12);
  }
}

constexpr int64_t kBatch = kUnknown;

TEST_CASE("elementwise ops and scalars") {
  check_placeholders([](const Inputs& in) { return in[0] + in[1] * 2 - 1; },
                     {{kBatch, 3}, {kBatch, 3}}, {kBatch, 3});
  check_placeholders([](const Inputs& in) { return ops::tanh(in[0]) / ops::ones({3}); },
                     {{kBatch, 3}}, {kBatch, 3});
  check_placeholders([](const Inputs& in) { return ops::where(in[0] > 0, in[0], 0); },
                     {{kBatch, kUnknown}}, {kBatch, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::gelu(ops::clip(in[0], -1, 1)); },
                     {{kBatch, 3}}, {kBatch, 3});
}

TEST_CASE("reductions, also over unknown axes") {
  check_placeholders([](const Inputs& in) { return ops::sum(in[0], -1); }, {{kBatch, 3}}, {kBatch});
  check_placeholders([](const Inputs& in) { return ops::mean(in[0]); }, {{kBatch, 3}}, {});
  check_placeholders([](const Inputs& in) { return ops::mean(in[0], 1, true); },
                     {{kBatch, kUnknown, 2}}, {kBatch, 1, 2});
  check_placeholders([](const Inputs& in) { return ops::var(in[0], 0); }, {{kBatch, 3}}, {3});
  check_placeholders([](const Inputs& in) { return ops::logsumexp(in[0], -1); },
                     {{kBatch, kUnknown, 2}}, {kBatch, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::std(in[0], -1); }, {{kBatch, kUnknown, 2}},
                     {kBatch, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::argmax(in[0], -1); }, {{kBatch, 3}},
                     {kBatch});
}

TEST_CASE("matmul, conv, pool, concatenate") {
  check_placeholders([](const Inputs& in) { return ops::matmul(in[0], in[1]); },
                     {{kBatch, 3}, {3, 2}}, {kBatch, 2});
  check_placeholders(
      [](const Inputs& in) { return ops::matmul(in[0], in[0], {.transpose_x2 = true}); },
      {{kBatch, kUnknown, 3}}, {kBatch, kUnknown, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::matmul(in[0], in[1]); }, {{kBatch, 3}, {3}},
                     {kBatch});
  check_placeholders(
      [](const Inputs& in) {
        return ops::max_pool(ops::conv(in[0], in[1], {.strides = 2, .padding = "same"}), 2);
      },
      {{kBatch, 8, 8, 1}, {3, 3, 1, 2}}, {kBatch, 2, 2, 2});
  check_placeholders([](const Inputs& in) { return ops::conv(in[0], in[1], {.padding = "same"}); },
                     {{kBatch, kUnknown, 2}, {3, 2, 2}}, {kBatch, kUnknown, 2});
  check_placeholders(
      [](const Inputs& in) {
        return ops::concatenate({in[0], in[1]}, -1);
      },
      {{kBatch, 3}, {kBatch, 2}}, {kBatch, 5});
}

TEST_CASE("einsum, also of unknown axes") {
  const auto check_einsum = [](const char* subscripts, const std::vector<Shape>& shapes,
                               const Shape& expected) {
    check_placeholders([&](const Inputs& in) { return ops::einsum(subscripts, in); }, shapes,
                       expected);
  };
  check_einsum("ij,kj->ik", {{kBatch, 3}, {kBatch, 3}}, {kBatch, kBatch});
  check_einsum("bi,ij->bj", {{kBatch, 3}, {3, 2}}, {kBatch, 2});
  check_einsum("bij,bkj->bik", {{kBatch, 4, 3}, {kBatch, kUnknown, 3}}, {kBatch, 4, kUnknown});
  check_einsum("...ij->...ji", {{kBatch, 4, 3}}, {kBatch, 3, 4});
  check_einsum("bi,bi->b", {{kBatch, 3}, {kBatch, 3}}, {kBatch});
}

TEST_CASE("einsum: a letter's size that is known somewhere") {
  const auto shape_of = [](const char* subscripts, const std::vector<Shape>& shapes) {
    const Recording recorder;
    Inputs placeholders;
    for (const Shape& shape : shapes) placeholders.push_back(recorder->input(shape));
    return ops::einsum(subscripts, placeholders).shape().to_string();
  };
  CHECK(shape_of("bt,tk->bk", {{kBatch, kUnknown}, {4, 3}}) == "(None, 3)");
  CHECK(shape_of("bti,bit->bt", {{kBatch, kUnknown, 3}, {kBatch, 3, 5}}) == "(None, 5)");
  CHECK(shape_of("bt,tk->bk", {{kBatch, kUnknown}, {1, 3}}) == "(None, 3)");
  CHECK_THROWS_AS(shape_of("bt,bt->b", {{kBatch, 5}, {kBatch, 6}}), InvalidArgument);
}

TEST_CASE("indexing, also of unknown axes") {
  const Shape shape = {kBatch, 4, 3};
  auto check_index = [&](const std::vector<Index>& key, const Shape& expected) {
    check_placeholders([&](const Inputs& in) { return ops::get_item(in[0], key); }, {shape},
                       expected);
  };
  const Slice whole;
  check_index({whole, -1}, {kBatch, 3});
  check_index({whole, Slice({}, {}, -2), 0}, {kBatch, 2});
  check_index({ellipsis, newaxis}, {kBatch, 4, 3, 1});
  check_index({whole, Tensor({2, 0, -1})}, {kBatch, 3, 3});
  check_index({whole, Tensor({2, 0}), Tensor({1, -1})}, {kBatch, 2});
  check_index({0}, {4, 3});
  check_index({-1}, {4, 3});
  check_index({-2, 1}, {3});
  check_index({Slice(1, {})}, {kBatch, 4, 3});
  check_index({Slice(0, 2), 1}, {kBatch, 3});
  check_index({Slice(-1)}, {kBatch, 4, 3});
  check_index({Slice(-2, {}), whole, 0}, {kBatch, 4});
  check_index({Slice({}, {}, -1)}, {kBatch, 4, 3});
  check_index({Slice({}, {}, 2), 0}, {kBatch, 3});
  const Recording recorder;
  const Tensor x = recorder->input(shape);
  CHECK(message_of<InvalidArgument>([&] {
          x[Slice(-3, 2)];
        }).starts_with("get_item: the slice from -3 to 2 depends on the size of axis 0"));
  CHECK(message_of<FailedPrecondition>([&] { x[x > 0]; })
            .starts_with("get_item: what the mask Tensor(shape=(None, 4, 3), dtype=bool, a "
                         "placeholder) selects depends on its values"));
}

TEST_CASE("rearranging with one unknown axis") {
  check_placeholders(
      [](const Inputs& in) {
        return ops::reshape(in[0], {-1, 6});
      },
      {{kBatch, 2, 3}}, {kBatch, 6});
  check_placeholders([](const Inputs& in) { return ops::expand_dims(in[0], 1); }, {{kBatch, 3}},
                     {kBatch, 1, 3});
  check_placeholders([](const Inputs& in) { return ops::squeeze(in[0], -1); },
                     {{kBatch, kUnknown, 1}}, {kBatch, kUnknown});
  check_placeholders(
      [](const Inputs& in) {
        return ops::transpose(in[0], {0, 2, 1});
      },
      {{kBatch, 2, 3}}, {kBatch, 3, 2});
  check_placeholders([](const Inputs& in) { return ops::slice_axis(in[0], -1, 1, -1); },
                     {{kBatch, 4}}, {kBatch, 2});
  check_placeholders([](const Inputs& in) { return ops::split(in[0], 2, -1)[1]; }, {{kBatch, 4}},
                     {kBatch, 2});
  check_placeholders(
      [](const Inputs& in) {
        return ops::stack({in[0], in[0]}, 1);
      },
      {{kBatch, 3}}, {kBatch, 2, 3});
  check_placeholders(
      [](const Inputs& in) {
        return ops::pad(in[0], {{0, 0}, {1, 2}});
      },
      {{kBatch, 3}}, {kBatch, 6});
  check_placeholders(
      [](const Inputs& in) { return ops::zeros_like(in[0]) + ops::full_like(in[0], 3); },
      {{kBatch, 3}}, {kBatch, 3});
}

TEST_CASE("slices of an unknown axis are what NumPy gives, for any size") {
  const std::vector<std::optional<int64_t>> places = {{}, 0, 1, 3, 7, -1, -2, -4, -9};
  const Recording recorder;
  for (const auto& start : places) {
    for (const auto& stop : places) {
      for (const int64_t step : {1, 2, -1, -3}) {
        const Slice slice(start, stop, step);
        CAPTURE(start.value_or(99));
        CAPTURE(stop.value_or(99));
        CAPTURE(step);
        const Tensor x = recorder->input({kUnknown, 2});
        Tensor part;
        try {
          part = x[slice];
        } catch (const InvalidArgument&) {
          const auto low = step > 0 ? start : stop, high = step > 0 ? stop : start;
          CHECK((low.value_or(0) < 0 && high.value_or(-1) >= 0));
          continue;
        }
        for (const int64_t size : {1, 3, 6}) {
          const Tensor value = random_tensor({size, 2}, -2, 2, 5);
          check_same(recorder->value_of(part, {x}, {value}), value[slice], 0);
        }
        recorder->forget();
      }
    }
  }
}

TEST_CASE("images, also of unknown sizes") {
  using namespace ops::image;  // NOLINT
  const Shape images = {kBatch, 4, 6, 3};
  const Shape any = {kBatch, kUnknown, kUnknown, 3};
  const auto check_image = [](const std::function<Tensor(const Tensor&)>& f, const Shape& shape,
                              const Shape& expected) {
    check_placeholders([&](const Inputs& in) { return f(in[0]); }, {shape}, expected);
  };
  check_image([](const Tensor& x) { return hsv_to_rgb(rgb_to_hsv(ops::abs(x))); }, any, any);
  check_image([](const Tensor& x) { return gaussian_blur(x); }, any, any);
  check_image([](const Tensor& x) { return sobel_edges(x); }, any,
              {kBatch, kUnknown, kUnknown, 3, 2});
  check_image([](const Tensor& x) { return ssim(x, ops::abs(x), {.filter_size = 2}); }, any,
              {kBatch});
  check_image([](const Tensor& x) { return resize(x, {3, 5}); }, any, {kBatch, 3, 5, 3});
  check_image([](const Tensor& x) { return rgb_to_grayscale(x); }, any,
              {kBatch, kUnknown, kUnknown, 1});
  check_image(
      [](const Tensor& x) {
        return crop_images(
            x, {.top_cropping = 1, .left_cropping = 0, .bottom_cropping = 1, .target_width = 2});
      },
      images, {kBatch, 2, 2, 3});
  check_image(
      [](const Tensor& x) {
        return pad_images(
            x, {.top_padding = 1, .left_padding = 0, .bottom_padding = 1, .target_width = 7});
      },
      any, {kBatch, kUnknown, 7, 3});
  check_image(
      [](const Tensor& x) {
        return pad_images(
            x, {.left_padding = 1, .bottom_padding = 1, .right_padding = 0, .target_height = 200});
      },
      {kBatch, kUnknown, 6, 3}, {kBatch, 200, 7, 3});
  check_image([](const Tensor& x) { return extract_patches(x, 2); }, images, {kBatch, 2, 3, 12});
  check_image([](const Tensor& x) { return extract_patches_3d(x, 2); }, {kBatch, 4, 2, 6, 1},
              {kBatch, 2, 1, 3, 8});
  const Tensor points = Tensor::from<float>({0, 0, 4, 0, 0, 3, 4, 3}, {4, 2});
  check_image([&](const Tensor& x) { return perspective_transform(x, points, points * 0.9); },
              images, images);
  check_image([](const Tensor& x) { return elastic_transform(x, {.seed = 3}); }, any, any);
  check_image(
      [](const Tensor& x) {
        return scale_and_translate(x, {kUnknown, 4, 3, 3}, Tensor({0.5}), Tensor({0.0}), {2},
                                   "linear");
      },
      images, {kBatch, 4, 3, 3});
  check_placeholders([](const Inputs& in) { return map_coordinates(in[0], in[1], 1); },
                     {{kBatch, 4}, {2, kUnknown}}, {kUnknown});
}

TEST_CASE("sequences, bits and patterns of unknown sizes") {
  check_placeholders(
      [](const Inputs& in) {
        return ops::rearrange(in[0], "b (h x) c -> (b x) c h", {{"x", 2}});
      },
      {{kBatch, 4, 3}}, {kUnknown, 3, 2});
  check_placeholders([](const Inputs& in) { return ops::rearrange(in[0], "a b c -> b (c a)"); },
                     {{kBatch, kUnknown, 3}}, {kUnknown, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::view(in[0], DType::Int32); }, {{kBatch, 3}},
                     {kBatch, 6});
  check_placeholders([](const Inputs& in) { return ops::nextafter(in[0], 2) + ops::i0(in[0]); },
                     {{kBatch, 3}}, {kBatch, 3});
  const auto lengths = [](const Tensor& x) {
    return ops::cast(ops::sum(x, {1, 2}) * 0 + 3, "int32");
  };
  check_placeholders(
      [&](const Inputs& in) {
        const Tensor labels = ops::cast(ops::argmax(in[0], 2), DType::Int32);
        return ops::ctc_loss(labels, in[0], lengths(in[0]), lengths(in[0]), -1);
      },
      {{kBatch, 5, 4}}, {kBatch});
  for (const char* strategy : {"greedy", "beam_search"}) {
    check_placeholders(
        [&](const Inputs& in) {
          return ops::ctc_decode(in[0], lengths(in[0]), {.strategy = strategy}).second;
        },
        {{kBatch, 5, 4}}, {kBatch, 1});
  }
}

// Makes matrices (..., 3, 3) symmetric and positive definite.
Tensor definite(const Tensor& x) {
  return ops::matmul(x, x, {.transpose_x2 = true}) + ops::eye(3, DType::Float64) * 4;
}

TEST_CASE("linear algebra of unknown sizes") {
  const std::vector<Shape> squares = {{kBatch, 3, 3}}, wide = {{kBatch, 2, 3}};
  const auto check_matrix = [](auto f, const std::vector<Shape>& shapes, const Shape& expected) {
    check_placeholders([&](const Inputs& in) { return f(in[0]); }, shapes, expected);
  };
  check_matrix([](const Tensor& x) { return ops::inv(definite(x)); }, squares, {kBatch, 3, 3});
  check_matrix([](const Tensor& x) { return ops::det(x); }, squares, {kBatch});
  check_matrix([](const Tensor& x) { return ops::slogdet(x).second; }, squares, {kBatch});
  check_matrix([](const Tensor& x) { return ops::logdet(definite(x)); }, squares, {kBatch});
  check_matrix([](const Tensor& x) { return ops::lu_factor(x).first; }, squares, {kBatch, 3, 3});
  check_matrix([](const Tensor& x) { return ops::cholesky(definite(x), true); }, squares,
               {kBatch, 3, 3});
  check_matrix([](const Tensor& x) { return ops::cholesky_inverse(ops::cholesky(definite(x))); },
               squares, {kBatch, 3, 3});
  check_matrix([](const Tensor& x) { return ops::eigh(definite(x)).first; }, squares, {kBatch, 3});
  check_matrix([](const Tensor& x) { return ops::qr(x, "complete").second; }, wide, {kBatch, 2, 3});
  check_matrix([](const Tensor& x) { return ops::svd(x).s; }, wide, {kBatch, 2});
  check_matrix([](const Tensor& x) { return ops::svd(x, true, false).s; }, wide, {kBatch, 2});
  check_matrix([](const Tensor& x) { return ops::pinv(x); }, wide, {kBatch, 3, 2});
  check_matrix([](const Tensor& x) { return ops::matrix_rank(x); }, wide, {kBatch});
  check_placeholders([](const Inputs& in) { return ops::solve(definite(in[0]), in[1]); },
                     {{kBatch, 3, 3}, {kBatch, 3}}, {kBatch, 3});
  check_placeholders(
      [](const Inputs& in) { return ops::solve_triangular(definite(in[0]), in[1], true); },
      {{kBatch, 3, 3}, {kBatch, 3, 2}}, {kBatch, 3, 2});
  check_placeholders([](const Inputs& in) { return ops::lstsq(in[0], in[1]); },
                     {{kBatch, 3}, {kBatch}}, {3});
}

TEST_CASE("grids, searches and frames of unknown sizes") {
  check_placeholders([](const Inputs& in) { return ops::meshgrid(in)[1]; }, {{kUnknown}, {3}},
                     {3, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::vander(in[0]); }, {{kUnknown}},
                     {kUnknown, kUnknown});
  check_placeholders([](const Inputs& in) { return ops::searchsorted(ops::sort(in[0]), in[1]); },
                     {{kUnknown}, {4}}, {4});
  check_placeholders([](const Inputs& in) { return ops::isin(in[1], ops::round(in[0])); },
                     {{kBatch, 3}, {4}}, {4});
  check_placeholders([](const Inputs& in) { return ops::extract_sequences(in[0], 2, 1); },
                     {{kBatch, kUnknown}}, {kBatch, kUnknown, 2});
  check_placeholders(
      [](const Inputs& in) {
        return ops::istft({in[0], in[1]}, 8, 2, 8);
      },
      {{kBatch, 4, 5}, {kBatch, 4, 5}}, {kBatch, 6});
  // As many repeats as there are rows, which is known only at run time.
  const Recording recorder;
  const Tensor x = recorder->input({kBatch, 2});
  const Tensor result = ops::repeat(x, {2, 0, 1}, 0);
  CHECK(result.shape() == Shape{3, 2});
  const Tensor rows = random_tensor({3, 2});
  check_same(recorder->value_of(result, {x}, {rows}), ops::repeat(rows, {2, 0, 1}, 0), 0);
  CHECK(message_of<InvalidArgument>([&] {
          recorder->value_of(result, {x}, {ops::ones({2, 2})});
        }).find("repeat: expected one number, or 2 numbers from 0") != std::string::npos);
}

TEST_CASE("layers' composites") {
  check_placeholders([](const Inputs& in) { return ops::layer_normalization(in[0]); },
                     {{kBatch, 4}}, {kBatch, 4});
  check_placeholders([](const Inputs& in) { return ops::softmax(in[0]); }, {{kBatch, 4}},
                     {kBatch, 4});
  check_placeholders([](const Inputs& in) { return ops::normalize(in[0]); }, {{kBatch, 4}},
                     {kBatch, 4});
  check_placeholders(
      [](const Inputs& in) { return ops::binary_crossentropy(ops::sigmoid(in[0]), in[0], true); },
      {{kBatch, 1}}, {kBatch, 1});
  check_placeholders(
      [](const Inputs& in) {
        return ops::categorical_crossentropy(ops::softmax(in[0]), in[1], {.from_logits = true});
      },
      {{kBatch, 4}, {kBatch, 4}}, {kBatch});
}

TEST_CASE("maps and scans over unknown axes, and with unknown axes") {
  check_placeholders(
      [](const Inputs& in) {
        return ops::map([](const Tensor& row) { return ops::cumsum(row, 0) * 2; }, in[0]);
      },
      {{kBatch, 3}}, {kBatch, 3});
  using Lists = std::pair<std::vector<Tensor>, std::vector<Tensor>>;
  // A recurrence along the second axis; the carry has the batch's size.
  check_placeholders(
      [](const Inputs& in) {
        return ops::scan(
                   [](const Tensor& carry, const Tensor& x) {
                     const Tensor next = ops::tanh(carry * 0.5 + x);
                     return std::pair(next, next);
                   },
                   ops::zeros_like(in[0](Slice(), 0)), ops::swapaxes(in[0], 0, 1))
            .second;
      },
      {{kBatch, 4, 3}}, {4, kBatch, 3});
  check_placeholders(
      [](const Inputs& in) {
        const std::function<Lists(const std::vector<Tensor>&, const std::vector<Tensor>&)> step =
            [](const std::vector<Tensor>& carries, const std::vector<Tensor>& xs) {
              return Lists({carries[0] + xs[0], carries[1] * 2}, {});
            };
        const Lists results =
            ops::scan(step, {ops::zeros({3}, DType::Float64), in[1]}, {in[0]}, {.reverse = true});
        return results.first[0] + results.first[1];
      },
      {{kBatch, 3}, {3}}, {3});
  check_placeholders(
      [](const Inputs& in) {
        return ops::associative_scan(
            [](const Tensor& a, const Tensor& b) { return ops::maximum(a, b); }, in[0]);
      },
      {{kBatch, 3}}, {kBatch, 3});
}

TEST_CASE("choices by a placeholder, and loops as long as one says") {
  const Tensor two = ops::full({3}, 2, DType::Float64);
  check_placeholders(
      [&](const Inputs& in) {
        return in[0] * ops::cond(
                           ops::sum(in[0]) > 0, [=] { return two; }, [=] { return -two; });
      },
      {{kBatch, 3}}, {kBatch, 3});
  using Operands = std::function<Tensor(const std::vector<Tensor>&)>;
  const std::vector<Operands> branches = {
      [](const std::vector<Tensor>& x) { return ops::tanh(x[0]) + x[1]; },
      [](const std::vector<Tensor>& x) { return x[0] * x[1]; }};
  for (const double bound : {-100, 0, 100}) {
    check_placeholders(
        [&](const Inputs& in) {
          const Tensor index = ops::cast(ops::sum(in[0]) > bound, DType::Int32);
          return ops::switch_(index, branches, in);
        },
        {{kBatch, 3}, {3}}, {kBatch, 3});
  }
  check_placeholders(
      [](const Inputs& in) {
        return ops::while_loop(
            [](const Inputs& values) { return ops::max(ops::abs(values[0])) < values[1]; },
            [](const Inputs& values) {
              return Inputs{values[0] * 2, values[1]};
            },
            {in[0], ops::sum(ops::abs(in[0])) + 50})[0];
      },
      {{kBatch, 3}}, {kBatch, 3});
  check_placeholders(
      [](const Inputs& in) {
        const Tensor turns = ops::cast(ops::sum(ops::abs(in[0])), DType::Int32);
        return ops::fori_loop(
            0, turns, [](const Tensor& i, const Tensor& x) { return x + ops::cast(i, x.dtype()); },
            in[0]);
      },
      {{kBatch, 3}}, {kBatch, 3});
}

TEST_CASE("convolutions need the number of channels") {
  const Recording recorder;
  const Tensor x = recorder->input({kBatch, 8, kUnknown});
  CHECK(message_of<InvalidArgument>([&] {
          ops::conv(x, ops::ones({3, 2, 4}));
        }) == "conv: expected an input whose channels are known, got shape (None, 8, None).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::depthwise_conv(x, ops::ones({3, 2, 1}));
        }) ==
        "depthwise_conv: expected an input whose channels are known, got shape (None, 8, None).");
}

TEST_CASE("what can't be said of unknown axes is said so") {
  const Recording recorder;
  const Tensor x = recorder->input({kBatch, kUnknown, 3});
  const char* advice = "within a layer (in its call method)";
  auto text = [&](const std::function<void()>& f) { return message_of<InvalidArgument>(f); };
  const std::function<void()> cases[] = {
      [&] {
        ops::reshape(x, {-1, -1});
      },
      [&] { ops::unstack(x, 1); },
      [&] { ops::slice_axis(x, 1, -3, 2); },
      [&] {
        ops::cond(
            ops::any(x), [&] { return x; }, [&] { return x; });
      },
  };
  for (const auto& f : cases) {
    INFO(text(f));
    CHECK(text(f).find(advice) != std::string::npos);
  }
}

}  // namespace
}  // namespace cornu::testing

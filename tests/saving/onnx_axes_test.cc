// SPDX-License-Identifier: Apache-2.0
// Axes of unknown size in onnxruntime: which of them are the same, and what depends on their sizes.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/saving/onnx_cases.h"
#include "tests/support/errors.h"

namespace cornu::test {
namespace {

constexpr int64_t kWords = 11;

Tensor words(int64_t rows, int64_t length) {
  return random::randint({rows, length}, 0, kWords, {.seed = length});
}

Tensor tokens(const std::string& name) {
  return Input({.shape = {kUnknown}, .dtype = DType::Int32, .name = name});
}

Tensor embedded(const Tensor& x) {
  return layers::Embedding({.input_dim = kWords, .output_dim = 4})(x);
}

// A layer that adds f(x), for one weight of this many rows.
class Adding : public Layer {
 public:
  using Function = Tensor (*)(const Tensor& x, const Variable& table);
  Adding(Function function, int64_t rows) : function_(function), rows_(rows) {}
  void build(const Shape& shape) override {
    table_ = add_weight({.shape = {rows_, shape.back()}, .name = "table"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return x + function_(x, table_); }
  std::string class_name() const override { return "onnx_test>Adding"; }

 private:
  Function function_;
  int64_t rows_;
  Variable table_;
};

Tensor first_rows(const Tensor& x, const Variable& table) {
  return ops::slice(table, {0, 0}, {x.dim(1), x.dim(2)});
}
Tensor moved_rows(const Tensor& x, const Variable& table) {
  const Tensor all = ops::tanh(ops::cast(table * 2, "float32"));
  return ops::reshape(ops::slice(all, {2, 0}, {x.dim(1), x.dim(2)}), {1, x.dim(1), x.dim(2)});
}
Tensor distances(const Tensor& x, const Variable&) {
  const Tensor places = ops::arange(1 - x.dim(1), 1, 1, "int32");
  return ops::expand_dims(ops::cast(places, "float32"), 1) * 0.1;
}
Tensor root(const Tensor& x, const Variable&) { return x * std::sqrt(double(x.dim(1))); }
Tensor inverse_root(const Tensor& x, const Variable&) { return x / std::sqrt(double(x.dim(1))); }

// With this many inputs, whose lengths must be the same.
Model adding(Adding::Function function, int64_t rows, int inputs = 1) {
  Tensors ends;
  std::vector<Tensor> list;
  for (int i = 0; i < inputs; ++i) list.push_back(tokens(fmt::format("x{}", i)));
  Tensor sum = embedded(list[0]);
  for (int i = 1; i < inputs; ++i) sum = sum + embedded(list[static_cast<size_t>(i)]);
  return Model(list, make_layer<Adding>(function, rows)(sum));
}

// The lengths of its inputs are those of a text and of another one. `in_pairs`: a mask of both
// lengths instead of one for each text.
Model encoder_decoder(bool in_pairs) {
  const Tensor source = tokens("source"), target = tokens("target");
  const Tensor encoded = embedded(source), decoded = embedded(target);
  const layers::MultiHeadAttention attention({.num_heads = 2, .key_dim = 3});
  if (in_pairs) {
    const Tensor mask =
        Input({.shape = {kUnknown, kUnknown}, .dtype = DType::Int32, .name = "pairs"});
    const Tensor y = attention(Tensors::named(
        {{"query", decoded}, {"value", encoded}, {"attention_mask", ops::cast(mask, "bool")}}));
    return Model({source, target, mask}, y);
  }
  const Tensor source_mask = tokens("source_mask"), target_mask = tokens("target_mask");
  const Tensor y = attention(
      Tensors::named({{"query", decoded},
                      {"value", encoded},
                      {"attention_mask", ops::cast(ops::expand_dims(source_mask, 1), "bool")}}));
  const Tensor kept = ops::cast(ops::expand_dims(target_mask, 2), "float32");
  return Model({source, source_mask, target, target_mask}, y * kept);
}

std::vector<Tensors> texts(const std::vector<std::pair<int64_t, int64_t>>& lengths) {
  std::vector<Tensors> result;
  for (const auto& sizes : lengths) {
    const int64_t m = sizes.first;
    const int64_t n = sizes.second;
    const Tensor ones = ops::ones({2, m}, "int32");
    result.push_back({words(2, m), ones, words(2, n), ops::ones({2, n}, "int32")});
  }
  return result;
}

}  // namespace

TEST_CASE("axes that may differ aren't made one, those that must be the same are") {
  set_random_seed(4);
  OnnxCases cases;
  Model masked = encoder_decoder(false);
  cases.add({.name = "two lengths"}, masked, texts({{12, 8}, {3, 5}, {1, 2}, {700, 300}}));
  Model pairs = encoder_decoder(true);
  cases.add({.name = "a mask of two lengths"}, pairs,
            {{words(2, 6), words(2, 9), ops::ones({2, 9, 6}, "int32")}});
  const Tensor left = Input({.shape = {kUnknown, kUnknown, 2}, .name = "left"});
  const Tensor right = Input({.shape = {kUnknown, kUnknown, 2}, .name = "right"});
  Model pictures({left, right}, left + right);
  cases.add({.name = "pictures"}, pictures, {{numbers({1, 5, 9, 2}), numbers({1, 5, 9, 2}, 6)}});
  Model apart({left, right}, {ops::mean(left, 2), ops::mean(right, 1)});
  cases.add({.name = "four sizes"}, apart, {{numbers({1, 5, 9, 2}), numbers({1, 7, 4, 2}, 6)}});
  CHECK(cases.check());
}

TEST_CASE("tables of positions with an open axis: of any number of rows") {
  set_random_seed(5);
  OnnxCases cases;
  for (const int64_t rows : {9, 16, 40, 100, 128, 300, 512, 4097}) {
    for (int inputs = 1; inputs <= 3; ++inputs) {
      Model model = adding(first_rows, rows, inputs);
      std::vector<Tensors> batches;
      for (const int64_t length : {int64_t{1}, int64_t{2}, int64_t{7}, rows}) {
        batches.emplace_back(std::vector<Tensor>(static_cast<size_t>(inputs), words(2, length)));
      }
      cases.add({.name = fmt::format("{} rows, {} inputs", rows, inputs),
                 .weights = {model.weights().back().path()}},
                model, batches);
    }
  }
  Model moved = adding(moved_rows, 30);
  cases.add({.name = "computed from a table"}, moved, {words(2, 1), words(1, 28)});
  CHECK(cases.check());
}

TEST_CASE("numbers that are computed from sizes") {
  set_random_seed(6);
  OnnxCases cases;
  for (const Adding::Function function : {distances, root, inverse_root}) {
    Model model = adding(function, 1);
    cases.add({.name = "of sizes"}, model, {words(2, 1), words(2, 5), words(1, 900)});
  }
  CHECK(cases.check());
}

TEST_CASE("quotients and sums of sizes aren't taken for other sizes, or for constants") {
  OnnxCases cases;
  const auto input = [](const char* name) { return Input({.shape = {kUnknown, 6}, .name = name}); };
  for (const auto& [window, stride] : {std::pair{3, 2}, {4, 4}, {16, 16}, {5, 3}}) {
    const Tensor x = input("x");
    Tensor y = layers::AveragePooling1D({.pool_size = window, .strides = stride})(x);
    Model model(x, layers::GlobalAveragePooling1D()(y));
    cases.add({.name = fmt::format("pooled by {}", window)}, model,
              {numbers({2, 64, 6}), numbers({2, 17, 6}), numbers({1, 800, 6})});
  }
  const std::vector<Tensor> x = {input("a"), input("b"), input("c"), input("d")};
  for (size_t left = 0; left < x.size(); ++left) {
    for (size_t right = 0; right < left; ++right) {
      Model model(x, ops::mean(ops::concatenate({x[left], x[right]}, 1), 1));
      cases.add({.name = "a mean of two"}, model,
                {{numbers({2, 3, 6}), numbers({2, 9, 6}), numbers({2, 4, 6}), numbers({2, 5, 6})}});
    }
  }
  CHECK(cases.check());
}

TEST_CASE("a model that accepts no sizes says why") {
  Model model = adding(
      [](const Tensor& x, const Variable& table) {
        return ops::reshape(table, {x.dim(1), 4});  // always of 3 rows
      },
      3);
  CHECK(contains(message_of([&] { model.export_("never.onnx"); }),
                 "It was exported for axes of any size. With .input_signature"));
}

}  // namespace cornu::test

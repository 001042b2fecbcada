// SPDX-License-Identifier: Apache-2.0
// Tensor handles: memory, views, errors; structures of tensors; rows.
#include "cornu/core/tensor.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cornu/core/rows.h"
#include "cornu/core/tensors.h"
#include "cornu/graph/function.h"
#include "cornu/ops/ops.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

const Tensor kTable = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {3, 2});

}  // namespace

TEST_CASE("wrapped memory isn't copied, and its owner lives as long") {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  std::weak_ptr<std::vector<float>> watched = owner;
  float* data = owner->data();
  Tensor tensor = Tensor::wrap(data, {2, 2}, DType::Float32, std::move(owner));
  CHECK(tensor.data<float>().data() == data);
  data[3] = 9;
  CHECK(tensor.data<float>()[3] == 9);
  Tensor row = tensor.rows(1, 2);
  tensor = Tensor();
  CHECK_FALSE(watched.expired());  // the view shares the buffer
  CHECK(row.to_vector<float>() == std::vector<float>{3, 9});
  row = Tensor();
  CHECK(watched.expired());

  float own[] = {5, 6};
  CHECK(Tensor::wrap(own, {2}, DType::Float32).raw() == reinterpret_cast<std::byte*>(own));
}

TEST_CASE("values are copied in, and must be as many as the shape says") {
  std::vector<double> values = {1, 2, 3};
  const Tensor tensor = Tensor::from(values);
  values[0] = 7;
  CHECK(tensor.shape() == Shape{3});
  CHECK(tensor.dtype() == DType::Float64);
  CHECK(tensor.to_vector<double>() == std::vector<double>{1, 2, 3});
  CHECK(tensor.bytes() == 24);
  CHECK(error_of([] {
          Tensor::from(std::vector<float>{1, 2}, {3});
        }) == "InvalidArgument: Tensor: expected 3 values for shape (3,), got 2.");
  CHECK_THROWS_AS(Tensor::from(std::vector<bool>{true}, {2}), InvalidArgument);
  CHECK(Tensor::from(std::vector<bool>{true, false}, {2}).to_vector<bool>() ==
        std::vector<bool>{true, false});
  CHECK(Tensor::from(std::vector<float>{}, {0, 5}).data<float>().empty());
}

TEST_CASE("elements of another dtype are refused") {
  CHECK(error_of([] { kTable.data<float>(); }) ==
        "InvalidArgument: Tensor of shape (3, 2): its elements are int32, but were asked for as "
        "float32. Use ops::cast first.");
  Tensor made = Tensor::empty({2}, DType::Float16);
  CHECK_THROWS_AS(made.mutable_data<bfloat16>(), InvalidArgument);
  CHECK(made.mutable_data<float16>().size() == 2);
}

TEST_CASE("item converts the only element") {
  CHECK(Tensor::scalar(2.75).item<float>() == 2.75f);
  CHECK(Tensor::scalar(2.75).item<int>() == 2);
  CHECK(Tensor::scalar(bfloat16(-1.5f)).item<double>() == -1.5);
  CHECK(Tensor::scalar(true).item<int>() == 1);
  CHECK(Tensor::scalar(int64_t{9007199254740993}).item<int64_t>() == 9007199254740993);
  CHECK(Tensor::from(std::vector<uint8_t>{200}, {1, 1}).item<float>() == 200);
  CHECK(error_of([] { kTable.item<float>(); }) ==
        "InvalidArgument: Tensor::item: expected exactly one element, got shape (3, 2).");
  CHECK_THROWS_AS(ops::zeros({0}).item<int>(), InvalidArgument);
}

TEST_CASE("a tensor without a value says why") {
  std::string of_item;
  std::string of_data;
  const Function step = function([&](const Tensor& x) {
    of_item = error_of([&] { ops::sum(x).item<float>(); });
    of_data = error_of([&] { x.data<float>(); });
    CHECK_THROWS_AS(x.rows(0, 1), FailedPrecondition);
    CHECK_THROWS_AS(x.with_shape({2}), FailedPrecondition);
    return x;
  });
  step(ops::zeros({2}));
  CHECK(of_item.starts_with("FailedPrecondition: Tensor of shape (): its value was asked for"));
  CHECK(of_data.starts_with("FailedPrecondition: Tensor of shape (2,): its value was asked for"));
  CHECK(of_data.ends_with("Values can be read outside of traced code only."));

  const Tensor undefined;
  CHECK_FALSE(undefined.defined());
  CHECK(undefined.to_string() == "Tensor(undefined)");
  CHECK(error_of([&] { undefined.shape(); }) ==
        "FailedPrecondition: Tensor: expected a tensor, got an undefined one.");
}

TEST_CASE("scalars of C++ are weak, and keep their digits") {
  CHECK(Tensor(1).is_weak());
  CHECK(Tensor(1).dtype() == DType::Int32);
  CHECK(Tensor(int64_t{1} << 40).dtype() == DType::Int64);
  CHECK(Tensor(0.1).dtype() == DType::Float32);
  CHECK(Tensor(0.1).weak_value() == 0.1);
  CHECK_FALSE(Tensor(true).is_weak());
  CHECK(Tensor(true).dtype() == DType::Bool);
  CHECK_FALSE(Tensor::scalar(1.0f).is_weak());
  const Tensor weak = 0.5;
  CHECK_FALSE(weak.strong().is_weak());
  CHECK(weak.strong().id() == weak.id());
  const Tensor x = ops::ones({2}, DType::BFloat16);
  CHECK((x / 255.0f * 2.0 + 1).dtype() == DType::BFloat16);
}

TEST_CASE("views share memory") {
  const Tensor rows = kTable.rows(1, 3);
  CHECK(rows.shape() == Shape{2, 2});
  CHECK(rows.raw() == kTable.raw() + 8);
  CHECK(kTable.rows(1, 1).shape() == Shape{0, 2});
  CHECK(kTable.with_shape({2, 3}).raw() == kTable.raw());
  CHECK_THROWS_AS(kTable.with_shape({4}), Internal);
  CHECK(error_of([] { kTable.rows(2, 4); }) ==
        "OutOfRange: Tensor::rows: expected a range within 3 rows, got [2, 4).");
  CHECK_THROWS_AS(kTable.rows(-1, 1), OutOfRange);
  CHECK_THROWS_AS(Tensor::scalar(1).rows(0, 0), OutOfRange);
  CHECK(kTable.dim(-1) == 2);
  CHECK_THROWS_AS(kTable.dim(2), OutOfRange);
}

TEST_CASE("who holds the memory alone") {
  Tensor tensor = ops::zeros({4});
  CHECK(tensor.is_unique());
  Tensor other = tensor;
  CHECK_FALSE(tensor.is_unique());
  other = tensor.rows(0, 2);
  CHECK_FALSE(tensor.is_unique());
  other = Tensor();
  CHECK(tensor.is_unique());
}

TEST_CASE("masks ride along without changing what a tensor is") {
  const Tensor mask = Tensor::from(std::vector<bool>{true, false, true}, {3});
  const Tensor masked = kTable.with_mask(mask);
  CHECK(masked.mask().id() == mask.id());
  CHECK_FALSE(kTable.mask().defined());
  CHECK(masked.id() == kTable.id());
  CHECK(masked.raw() == kTable.raw());
  CHECK_FALSE(masked.with_mask(Tensor()).mask().defined());
}

TEST_CASE("text shows the first elements") {
  CHECK(Tensor::from(std::vector<float>{1, 2.5f}).to_string() ==
        "Tensor(shape=(2,), dtype=float32, values=[1, 2.5])");
  CHECK(ops::ones({2, 5}, DType::Int64).to_string() ==
        "Tensor(shape=(2, 5), dtype=int64, values=[1, 1, 1, 1, 1, 1, …])");
  CHECK(ops::zeros({0}).to_string() == "Tensor(shape=(0,), dtype=float32, values=[])");
}

TEST_CASE("structures: one tensor, a list, names") {
  const Tensor a = Tensor::scalar(1);
  const Tensor b = Tensor::scalar(2);
  CHECK(Tensors(Tensor()).empty());
  CHECK(Tensors(a).single().id() == a.id());
  const Tensors list = {a, b};
  CHECK(list.size() == 2);
  CHECK_FALSE(list.has_names());
  CHECK(error_of([&] { list.single(); }).starts_with("InvalidArgument: Expected a single tensor"));
  const Tensors named = {{"image", a}, {"hint", b}};
  CHECK(named.at("hint").id() == b.id());
  CHECK(error_of([&] { named.at("hnit"); }) ==
        "NotFound: There is no tensor named 'hnit'. Did you mean 'hint'? Known: image, hint.");
  const Tensors swapped = named.with({b, a});
  CHECK(swapped.at("image").id() == b.id());
}

TEST_CASE("rows: consecutive ones are shared, others copied") {
  const std::vector<int64_t> consecutive = {1, 2};
  const std::vector<int64_t> mixed = {2, 0, 2};
  CHECK(gather_rows(kTable, consecutive).raw() == kTable.raw() + 8);
  CHECK(gather_rows(kTable, mixed).to_vector<int32_t>() == std::vector<int32_t>{4, 5, 0, 1, 4, 5});
  CHECK(gather_rows(kTable, {}).shape() == Shape{0, 2});
  CHECK(row(kTable, 1).shape() == Shape{2});
  for (const int64_t bad : {-1, 3}) {
    CHECK_THROWS_AS(gather_rows(kTable, std::span(&bad, 1)), OutOfRange);
  }
  const std::vector<Tensor> parts = {row(kTable, 2), row(kTable, 0)};
  CHECK(stack_rows(parts).to_vector<int32_t>() == std::vector<int32_t>{4, 5, 0, 1});
  const std::vector<Tensor> unlike = {row(kTable, 2), ops::zeros({2})};
  CHECK_THROWS_AS(stack_rows(unlike), InvalidArgument);
}

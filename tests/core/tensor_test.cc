// SPDX-License-Identifier: Apache-2.0
// Tensor handles: memory, views, errors; structures of tensors; rows.
#include "framework/core/tensor.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "framework/core/print.h"
#include "framework/core/rows.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

const Tensor kTable = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {3, 2});

}  // namespace

TEST_CASE("a null pointer wraps nothing but an empty array") {
  float* const none = nullptr;
  CHECK(Tensor::wrap(none, {0, 3}, "float32").shape() == Shape{0, 3});
  CHECK(error_of([&] { Tensor::wrap(none, {3}, "float32"); }) ==
        "InvalidArgument: Tensor::wrap: expected memory of 12 bytes for shape (3,), got a null "
        "pointer.");
}

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
  Tensor wrapped = Tensor::wrap(own, {2}, "float32");
  CHECK(wrapped.raw() == reinterpret_cast<std::byte*>(own));
  wrapped.mutable_data<float>()[1] = 7;
  CHECK(own[1] == 7);
  const float constants[] = {5, 6};
  Tensor copied = Tensor::wrap(constants, {2}, "float32");
  CHECK(copied.raw() == reinterpret_cast<const std::byte*>(constants));
  copied.mutable_data<float>()[1] = 7;
  CHECK(constants[1] == 6);
  CHECK(copied.to_vector<float>() == std::vector<float>{5, 7});
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

TEST_CASE("values of all sorts of containers") {
  const std::vector<int32_t> expected = {1, 2, 3, 4, 5, 6};
  const int array[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const std::vector<std::vector<int>> nested = {{1, 2, 3}, {4, 5, 6}};
  const std::vector<std::array<int32_t, 3>> mixed = {{1, 2, 3}, {4, 5, 6}};
  for (const Tensor& tensor : {Tensor::from(array), Tensor::from(nested), Tensor::from(mixed),
                               Tensor::from({{1, 2, 3}, {4, 5, 6}}), Tensor({{1, 2, 3}, {4, 5, 6}}),
                               Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3})}) {
    CHECK(tensor.shape() == Shape{2, 3});
    CHECK(tensor.to_vector<int32_t>() == expected);
  }
  CHECK(Tensor::from({{{1}, {2}}, {{3}, {4}}}).shape() == Shape{2, 2, 1});
  CHECK(Tensor::from<float>({{1, 2}, {3, 4}}).dtype() == DType::Float32);
  CHECK(Tensor::from({1.5, 2.5}).dtype() == DType::Float64);
  const Tensor list = {1.5, 2.5};
  CHECK(list.dtype() == DType::Float32);
  CHECK_FALSE(list.is_weak());
  CHECK(Tensor({true, false}).dtype() == DType::Bool);
  CHECK(Tensor::from(std::vector<std::vector<int>>(2)).shape() == Shape{2, 0});
  CHECK(error_of([] {
          Tensor::from({{1, 2}, {3}});
        }) ==
        "InvalidArgument: Tensor: expected lists of one length on axis 1, got 2 and 1 elements.");

  float plain[] = {1, 2};
  CHECK(Tensor::from(plain).to_vector<float>() == std::vector<float>{1, 2});
  CHECK(Tensor::from(std::span<float>(plain)).shape() == Shape{2});
  CHECK(Tensor::from(std::span<const float>(plain), {2, 1}).shape() == Shape{2, 1});
  CHECK(Tensor::from(std::vector<bool>{true, false}).dtype() == DType::Bool);
}

TEST_CASE("every integer type has a dtype that holds it") {
  CHECK(Tensor::from({'a', 'b'}).dtype() == DType::Int8);
  CHECK(Tensor::from(std::vector<short>{-5}).to_vector<int32_t>() == std::vector<int32_t>{-5});
  CHECK(Tensor::from(std::vector<unsigned short>{65535}).item<int>() == 65535);
  CHECK(Tensor::from(std::vector<long long>{1}).dtype() == DType::Int64);
  CHECK(Tensor::from(std::vector<unsigned long long>{1}).dtype() == DType::UInt64);
  CHECK(Tensor::from(std::vector<long>{1}).dtype() == DType::Int64);
  CHECK(Tensor::from({1.0L}).dtype() == DType::Float64);
  CHECK(Tensor::scalar(1LL).dtype() == DType::Int64);
}

TEST_CASE("sizes that no memory holds are refused before any is asked for") {
  CHECK(error_of([] {
          Tensor::empty({int64_t{1} << 32, int64_t{1} << 32}, DType::Float32);
        }) ==
        "InvalidArgument: Shape (4294967296, 4294967296) has more elements than can be "
        "counted.");
  CHECK(error_of([] { Tensor::empty({int64_t{1} << 62}, DType::Float64); }) ==
        "InvalidArgument: Shape (4611686018427387904,) has more bytes than can be "
        "counted.");
  CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 60}, DType::Float32), ResourceExhausted);
  CHECK(error_of([] { Tensor::empty({-5}, DType::Float32); }) ==
        "InvalidArgument: Shape (-5,): expected sizes from 0 that are all known, to count "
        "elements. Those of a placeholder are known within a layer's call.");
  float one = 1;
  CHECK_THROWS_AS(Tensor::wrap(&one, {int64_t{1} << 62, 4}, DType::Float32), InvalidArgument);
  CHECK(Tensor::empty({int64_t{1} << 62, 4, 0}, DType::Float32).size() == 0);
}

TEST_CASE("what is read of a temporary lives on") {
  const auto elements = Tensor::from({1.0f, 2.0f, 3.0f}).rows(1, 3).data<float>();
  const Tensor other = Tensor::from({7.0f, 8.0f, 9.0f});  // would reuse the memory
  CHECK(std::vector<float>(elements.begin(), elements.end()) == std::vector<float>{2, 3});
  CHECK(elements[1] == 3);
  CHECK(elements.size() == 2);
  float sum = 0;
  for (float value : Tensors(Tensor::from({1.0f, 2.0f})).data<float>()) sum += value;
  CHECK(sum == 3);
  const Tensor& kept = Tensors(Tensor::from({4}));
  CHECK(kept.item<int>() == 4);
  for (int64_t size : Tensor::from({{1, 2}, {3, 4}}).shape()) CHECK(size == 2);
  static_assert(std::is_convertible_v<TensorData<float>&, std::span<const float>>);
  static_assert(!std::is_convertible_v<TensorData<float>, std::span<const float>>);
  static_assert(!std::is_assignable_v<Tensor, Tensor>);  // x[0] = 1
}

TEST_CASE("writing to a shared value leaves the others alone") {
  const Tensor original = Tensor::from({1.0f, 2.0f});
  Tensor copy = original;
  copy.mutable_data<float>()[0] = 55;
  CHECK(original.to_vector<float>() == std::vector<float>{1, 2});
  CHECK(copy.to_vector<float>() == std::vector<float>{55, 2});
  CHECK(copy.id() != original.id());
  const std::byte* memory = copy.raw();
  copy.mutable_data<float>()[1] = 3;
  CHECK(copy.raw() == memory);  // it is the only owner now
  Tensor row = copy.rows(0, 1);
  row.mutable_data<float>()[0] = 4;
  CHECK(copy.to_vector<float>() == std::vector<float>{55, 3});
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
  // For values that no integer equals, the closest integer, as in ops::cast.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(Tensor::scalar(1e300).item<int>() == std::numeric_limits<int>::max());
  CHECK(Tensor::scalar(-kInfinity).item<int64_t>() == std::numeric_limits<int64_t>::min());
  CHECK(Tensor::scalar(-3.5f).item<uint8_t>() == 0);
  CHECK(Tensor::scalar(1e19).item<uint64_t>() == 10'000'000'000'000'000'000U);
  CHECK(Tensor::scalar(std::nan("")).item<int>() == 0);
  CHECK(Tensor::scalar(0.5).item<bool>());
  CHECK(error_of([] { kTable.item<float>(); }) ==
        "InvalidArgument: Tensor::item: expected exactly one element, got shape (3, 2).");
  CHECK_THROWS_AS(ops::zeros({0}).item<int>(), InvalidArgument);
  CHECK(float(Tensor::scalar(2.5)) == 2.5f);
  CHECK(static_cast<int>(Tensor::scalar(2.5)) == 2);
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
  CHECK(
      of_data.ends_with("Values can be read outside of traced code only; to choose by one, use "
                        "ops::where or ops::cond."));

  const Tensor undefined;
  CHECK_FALSE(undefined.defined());
  CHECK(undefined.to_string() == "Tensor(undefined)");
  CHECK(error_of([&] { undefined.shape(); }) ==
        "FailedPrecondition: Tensor: expected a tensor, got an undefined one.");
  CHECK(error_of([&] { undefined.shape("reshape"); }) ==
        "FailedPrecondition: reshape: expected a tensor, got an undefined one.");
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
  const Tensor reshaped = kTable.with_shape({2, 3});
  CHECK(rows.shape() == Shape{2, 2});
  CHECK(rows.raw() == kTable.raw() + 8);
  CHECK(kTable.rows(1, 1).shape() == Shape{0, 2});
  CHECK(reshaped.raw() == kTable.raw());
  CHECK_THROWS_AS(kTable.with_shape({4}), InvalidArgument);
  CHECK(error_of([] { kTable.rows(2, 4); }) ==
        "OutOfRange: Tensor::rows: expected a range within 3 rows, got [2, 4).");
  CHECK(kTable.rows(-2, 3).to_vector<int32_t>() == std::vector<int32_t>{2, 3, 4, 5});
  CHECK(kTable.rows(-3, -1).to_vector<int32_t>() == std::vector<int32_t>{0, 1, 2, 3});
  CHECK_THROWS_AS(kTable.rows(-1, 1), OutOfRange);
  CHECK_THROWS_AS(kTable.rows(-4, 1), OutOfRange);
  CHECK_THROWS_AS(Tensor::scalar(1).rows(0, 0), OutOfRange);
  CHECK(kTable.dim(-1) == 2);
  CHECK(kTable.size() == 6);
  CHECK_THROWS_AS(kTable.dim(2), OutOfRange);
}

TEST_CASE("exclusive ownership of memory") {
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

TEST_CASE("text: elements, shape, dtype") {
  CHECK(Tensor::from(std::vector<float>{1, 2.5f}).to_string() ==
        "Tensor([1.  2.5], shape=(2,), dtype=float32)");
  CHECK(ops::ones({2, 3}, DType::Int64).to_string() ==
        "Tensor(\n[[1 1 1]\n [1 1 1]], shape=(2, 3), dtype=int64)");
  CHECK(ops::zeros({0}).to_string() == "Tensor([], shape=(0,), dtype=float32)");
  CHECK(Tensor::scalar(0.5f).to_string() == "Tensor(0.5, shape=(), dtype=float32)");
  const Tensor placeholder = Input({.shape = {3}, .name = "x"});
  CHECK(placeholder.to_string() ==
        "Tensor(shape=(None, 3), dtype=float32, a placeholder (the output of InputLayer 'x'))");
  CHECK(fmt::format("{}", Tensor::scalar(true)) == "Tensor(True, shape=(), dtype=bool)");
  CHECK(fmt::format("{}", Variable(Tensor::from({1, 2}), {.name = "v"})) ==
        "Variable(path=v, shape=(2,), dtype=int32, value=[1 2])");
  CHECK(fmt::format("{}", Tensors{{"a", Tensor::scalar(1)}, {"b", Tensor::scalar(2)}}) ==
        "{a: Tensor(1, shape=(), dtype=int32),\n b: Tensor(2, shape=(), dtype=int32)}");
  std::ostringstream stream;
  stream << Tensor::from({1, 2}) << ' ' << Shape{2, 3} << ' ' << DType::Float16 << ' ' << Device{}
         << ' ' << Tensors(Tensor::scalar(1)) << ' ' << Tensor() << ' ' << Variable();
  CHECK(stream.str() ==
        "Tensor([1 2], shape=(2,), dtype=int32) (2, 3) float16 CPU:0 Tensor(1, shape=(), "
        "dtype=int32) Tensor(undefined) Variable(undefined)");
}

TEST_CASE("how much is printed can be set") {
  const PrintOptions before = print_options();
  set_print_options({.precision = 2, .threshold = 4, .edge_items = 1});
  CHECK(Tensor::from({1.0f, 2.0f, 3.0f, 4.0f, 1.0f / 3}).to_string() ==
        "Tensor([1.   ... 0.33], shape=(5,), dtype=float32)");
  CHECK(error_of([] {
          set_print_options({.precision = -1});
        }).starts_with("InvalidArgument: set_print_options: expected numbers from 0"));
  set_print_options(before);
  CHECK(print_options().threshold == 1000);
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
  CHECK(named["hint"].id() == b.id());
  CHECK(named.get("hint").id() == b.id());
  CHECK_FALSE(named.get("hnit").defined());
  CHECK_FALSE(list.get("hint").defined());
  CHECK_FALSE(Tensors().get("hint").defined());
  const Tensors swapped = named.with({b, a});
  CHECK(swapped.at("image").id() == b.id());
  CHECK(swapped.at(0).id() == b.id());
  CHECK(error_of([&] { named.item<int>(); }) ==
        "InvalidArgument: Expected a single tensor, got 2 of them (image, hint). Choose one with "
        "[\"name\"] or [index].");
  CHECK(
      error_of([&] { list[2]; }) ==
      "OutOfRange: Expected a place among 2 tensors, got [2]. A single tensor is indexed by y(i), "
      "or y.single()[i].");
}

TEST_CASE("a structure of one tensor is used as that tensor") {
  const Tensors y = kTable;
  CHECK(y.shape() == Shape{3, 2});
  CHECK(y.dtype() == DType::Int32);
  CHECK(y.rank() == 2);
  CHECK(y.dim(-1) == 2);
  CHECK(y.num_elements() == 6);
  CHECK(y.to_vector<int32_t>() == kTable.to_vector<int32_t>());
  CHECK(y.data<int32_t>()[5] == 5);
  CHECK(y(-1, 0).item<int>() == 4);
  CHECK(y.rows(0, 1).shape() == Shape{1, 2});
  CHECK(float(Tensors(Tensor::scalar(3))) == 3);
  CHECK((y + 1)(2, 1).item<int>() == 6);
  const Variable variable(Tensor::from({1, 2}));
  CHECK(Tensors(variable).single().id() == variable.stored().id());
}

TEST_CASE("rows: consecutive ones are shared, others copied") {
  const std::vector<int64_t> consecutive = {1, 2};
  const std::vector<int64_t> mixed = {2, 0, 2};
  const Tensor shared = gather_rows(kTable, consecutive);
  CHECK(shared.raw() == kTable.raw() + 8);
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

TEST_CASE("lists of lists of lists") {
  const Tensor t = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  CHECK(t.shape() == Shape{2, 3, 2});
  CHECK(t.dtype() == DType::Int32);
  CHECK(t.to_vector<int32_t>()[7] == 8);
}

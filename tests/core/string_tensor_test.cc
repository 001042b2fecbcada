// SPDX-License-Identifier: Apache-2.0
// String tensors: created, read, copied as objects, and rejected by everything that works on
// numbers.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "framework/core/rows.h"
#include "framework/core/tensor.h"
#include "framework/core/variable.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/support/errors.h"

using namespace cornu;
using test::message_of;
using Strings = std::vector<std::string>;

namespace {

// Too long for a string's small buffer.
const std::string kLong(100, 'x');

}  // namespace

TEST_CASE("strings are made of what holds text") {
  const Tensor list = Tensor::from({"a", "", "bc"});
  CHECK(list.dtype() == DType::String);
  CHECK(list.shape() == Shape{3});
  CHECK(list.to_vector<std::string>() == Strings{"a", "", "bc"});
  CHECK(Tensor::from(Strings{"a", kLong}).data<std::string>()[1] == kLong);
  CHECK(Tensor::from(std::vector<std::string_view>{"v"}).data<std::string>()[0] == "v");
  CHECK(Tensor::from(std::vector<Strings>{{"a", "b"}, {"c", "d"}}).shape() == Shape{2, 2});
  const Tensor scalar = Tensor::scalar("word");
  CHECK(scalar.rank() == 0);
  CHECK(scalar.item<std::string>() == "word");
  CHECK(Tensor::scalar(std::string("a\0b", 3)).item<std::string>().size() == 3);
  CHECK(Tensor::empty({2, 2}, "string").to_vector<std::string>() == Strings(4));
  CHECK(Tensor::from(Strings{}).shape() == Shape{0});
  CHECK(dtype_from_string("string") == DType::String);
  CHECK(fmt::format("{}", DType::String) == "string");
}

TEST_CASE("strings are copied as objects") {
  Tensor words = Tensor::from({"a", "b", "c"});
  Tensor copy = words;
  copy.mutable_data<std::string>()[0] = kLong;
  CHECK(words.to_vector<std::string>() == Strings{"a", "b", "c"});
  CHECK(copy.data<std::string>()[0] == kLong);
  Tensor part = copy.rows(0, 2);
  copy = Tensor();
  part.mutable_data<std::string>()[1] = kLong + "y";
  CHECK(part.to_vector<std::string>() == Strings{kLong, kLong + "y"});

  const Tensor table = Tensor::from(std::vector<Strings>{{"a", "b"}, {kLong, "d"}, {"e", "f"}});
  const std::vector<int64_t> mixed = {2, 1, 1};
  CHECK(gather_rows(table, mixed).to_vector<std::string>() ==
        Strings{"e", "f", kLong, "d", kLong, "d"});
  CHECK(gather_rows(table, {}).shape() == Shape{0, 2});
  const std::vector<Tensor> rows = {row(table, 1), row(table, 0)};
  CHECK(stack_rows(rows).to_vector<std::string>() == Strings{kLong, "d", "a", "b"});
  CHECK(rows[0].to_vector<std::string>() == Strings{kLong, "d"});
  CHECK(table.with_shape({2, 3}).data<std::string>()[2] == kLong);
}

TEST_CASE("strings of rows that nobody else holds are moved") {
  const Tensor held = Tensor::scalar(kLong);
  std::vector<Tensor> parts = {Tensor::scalar(kLong), held, Tensor::scalar(kLong)};
  parts.push_back(parts[2]);  // the same tensor twice
  const char* first = parts[0].data<std::string>()[0].data();
  const Tensor stacked = stack_rows(std::move(parts));
  CHECK(stacked.to_vector<std::string>() == Strings{kLong, kLong, kLong, kLong});
  CHECK(stacked.data<std::string>()[0].data() == first);
  CHECK(held.item<std::string>() == kLong);
}

TEST_CASE("strings are printed") {
  CHECK(Tensor::from({"a", "b c"}).to_string() == "Tensor(['a' 'b c'], shape=(2,), dtype=string)");
  CHECK(Tensor::scalar("a\nb").to_string() == "Tensor('a\\x0ab', shape=(), dtype=string)");
  CHECK(Tensor::scalar(std::string(1000, 'x')).to_string().size() < 200);
}

TEST_CASE("strings are compared, indexed and moved") {
  const Tensor words = Tensor::from(Strings{"a", kLong, "c", "a"});
  CHECK((words == Tensor::scalar("a")).to_vector<bool>() ==
        std::vector<bool>{true, false, false, true});
  CHECK((words != words[0]).to_vector<bool>() == std::vector<bool>{false, true, true, false});
  const Tensor square = ops::reshape(words, {2, 2});
  CHECK((square == Tensor::from(Strings{"a", "a"})).to_vector<bool>() ==
        std::vector<bool>{true, false, false, true});
  CHECK(words[-3].item<std::string>() == kLong);
  CHECK(words[Slice(1, 3)].to_vector<std::string>() == Strings{kLong, "c"});
  CHECK(words[words == words[0]].to_vector<std::string>() == Strings{"a", "a"});
  CHECK(square(1, Slice()).to_vector<std::string>() == Strings{"c", "a"});
  CHECK(ops::transpose(square).to_vector<std::string>() == Strings{"a", "c", kLong, "a"});
  CHECK(ops::flip(words, 0).to_vector<std::string>() == Strings{"a", "c", kLong, "a"});
  CHECK(ops::take(words, Tensor::from({2, -3}), 0).to_vector<std::string>() == Strings{"c", kLong});
  CHECK_THROWS_AS(ops::take(words, Tensor::from({4}), 0), Error);
  CHECK(ops::concatenate({words[Slice(2, 4)], Tensor::from(Strings{"d"})}, 0)
            .to_vector<std::string>() == Strings{"c", "a", "d"});
  CHECK(ops::stack({words, words}).shape() == Shape{2, 4});
  CHECK(ops::where(words == words[0], Tensor::scalar("A"), words).to_vector<std::string>() ==
        Strings{"A", kLong, "c", "A"});
  CHECK((Tensor::from(Strings{}) == words[0]).shape() == Shape{0});
  CHECK_THROWS_AS(ops::less(words, words), InvalidArgument);
  CHECK_THROWS_AS(static_cast<void>(words == Tensor(1)), InvalidArgument);
  CHECK_THROWS_AS(static_cast<void>(words == Tensor::from({1, 2, 3, 4})), InvalidArgument);
  CHECK_THROWS_AS(ops::concatenate({words, Tensor::from({1})}, 0), InvalidArgument);
  // In traced functions, strings can't be used.
  const auto traced =
      function([=](const Tensor& x) { return x + ops::cast(words == words, "int32"); });
  CHECK_THROWS_AS(traced(Tensor::from({1, 2, 3, 4})), InvalidArgument);
}

TEST_CASE("what works on numbers refuses strings") {
  const Tensor words = Tensor::from({"a", "b"});
  CHECK(message_of<InvalidArgument>([&] { ops::negative(words); }) ==
        "negate: expected a tensor of numbers, got one of strings and shape (2,). Strings are for "
        "input pipelines: make numbers of them there.");
  CHECK_THROWS_AS(words + 1, InvalidArgument);
  CHECK_THROWS_AS(words + Tensor::from({1, 2}), InvalidArgument);
  CHECK_THROWS_AS(words.item<std::string>(), InvalidArgument);
  CHECK_THROWS_AS(words.rows(0, 1).item<float>(), InvalidArgument);
  CHECK_THROWS_AS(Tensor::scalar(1).item<std::string>(), InvalidArgument);
  CHECK_THROWS_AS(words.data<int8_t>(), InvalidArgument);
  CHECK_THROWS_AS(Tensor::from({1}).data<std::string>(), InvalidArgument);
  CHECK_THROWS_AS(Variable(words, {.name = "v"}), InvalidArgument);
  CHECK_THROWS_AS(promote(DType::String, DType::Float32), InvalidArgument);
  int value = 0;
  CHECK(message_of<InvalidArgument>([&] { Tensor::wrap(&value, {1}, "string"); }) ==
        "Tensor::wrap: expected numbers, got strings. Use Tensor::from.");
  const auto same = function([](const Tensor& x) { return x; });
  CHECK(message_of<NotTraceable>([&] {
          same(words);
        }).find("Traced code works on numbers; it can't take or give strings.") !=
        std::string::npos);
  const auto constant = function([&](const Tensor&) { return words; });
  CHECK_THROWS_AS(constant(Tensor::scalar(1.0f)), NotTraceable);
}

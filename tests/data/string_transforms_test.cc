// SPDX-License-Identifier: Apache-2.0
// Strings in transforms that cut and join, and how passes continue after an element that fails.
#include <doctest/doctest.h>

#include <map>

#include "data/readers/npy.h"
#include "data/readers/npz.h"
#include "data/strings.h"
#include "data/text_files.h"
#include "data/tf_record.h"
#include "data/windows.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;
using Strings = std::vector<std::string>;

namespace {

Dataset words() {
  const Tensor lines = Tensor::from({"a b", "a word of more than thirty bytes in one string", "c"});
  return Dataset::from_tensor_slices(lines).map(
      [](const Tensor& line) { return data::strings::split(line); });
}

Strings strings_of(const Tensor& tensor) { return tensor.to_vector<std::string>(); }

// 0 to count - 1, where each element in `bad` fails.
Dataset failing(int64_t count, const Numbers& bad) {
  return Dataset::range(count).map([bad](const Tensor& x) {
    const auto number = x.item<int64_t>();
    check<InvalidArgument>(std::find(bad.begin(), bad.end(), number) == bad.end(), "bad {}",
                           number);
    return Tensor::scalar(number);
  });
}

}  // namespace

TEST_CASE("strings are padded and joined as objects") {
  std::vector<Strings> rows;
  for (const Element& batch : words().padded_batch(2)) rows.push_back(strings_of(batch.tensor(0)));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].size() == 20);
  CHECK(rows[0][0] == "a");
  CHECK(rows[0][2] == "");
  CHECK(rows[0][11] == "word");
  CHECK(rows[1] == Strings{"c"});
  for (const Element& batch : words().padded_batch(3, {.padding_values = {Tensor::scalar("-")}})) {
    CHECK(strings_of(batch.tensor(0))[9] == "-");
    CHECK(strings_of(batch.tensor(0))[21] == "-");
  }
  CHECK(contains(message_of<InvalidArgument>(
                     [] { words().padded_batch(2, {.padding_values = {Tensor::scalar(1)}}); }),
                 "padded_batch: expected a padding value of string for tensor 0, got int32."));
  CHECK(contains(message_of<InvalidArgument>([] {
                   Dataset::range(3).padded_batch(2, {.padding_values = {Tensor::scalar(0.5f)}});
                 }),
                 "padded_batch: the padding value 0.5 of tensor 0 is no int64."));
  for (const Element& batch : words().ragged_batch(3)) {
    CHECK(strings_of(batch.tensors()[0]).size() == 13);
    CHECK(strings_of(batch.tensors()[0])[12] == "c");
    CHECK(numbers(batch.tensors()[1]) == Numbers{0, 2, 12, 13});
  }
}

TEST_CASE("a scan over strings is restored by going over its elements again") {
  const auto make = [] {
    return Dataset::from_tensor_slices(Tensor::from({"a", "b", "c", "d"}))
        .scan(Tensor::scalar("a state that is longer than a short string"), [](const Tensor& state,
                                                                               const Tensor& x) {
          const Tensor next = Tensor::scalar(state.item<std::string>() + x.item<std::string>());
          return std::pair(next, next);
        });
  };
  auto iterator = make().iterator();
  Element element;
  iterator.next(element);
  iterator.next(element);
  auto restored = make().iterator();
  restored.restore(iterator.save());
  Element other;
  while (iterator.next(element)) {
    REQUIRE(restored.next(other));
    CHECK(other.tensor(0).item<std::string>() == element.tensor(0).item<std::string>());
  }
  CHECK_FALSE(restored.next(other));
  CHECK(element.tensor(0).item<std::string>().ends_with("stringabcd"));
}

TEST_CASE("states of functions on the host may have axes") {
  const auto sum = [](const Tensor& state, const Tensor& text) {
    const auto size = static_cast<int64_t>(text.item<std::string>().size());
    return ops::add(state, Tensor::from({int64_t{1}, size}));
  };
  const Element total = Dataset::from_tensor_slices(Tensor::from({"ab", "cde"}))
                            .reduce(Tensor::from({int64_t{0}, int64_t{0}}), sum);
  CHECK(numbers(total.tensor(0)) == Numbers{2, 5});
}

TEST_CASE("functions of strings over nothing") {
  const Dataset none = Dataset::from_tensor_slices(Tensor::from(Strings{}));
  const auto empty =
      none.filter([](const Tensor& x) { return Tensor(x.item<std::string>().empty()); });
  CHECK(empty.element_spec().to_string() == "string ()");
  for (const Element& element : empty) FAIL(element.size());
}

TEST_CASE("NumPy's files refuse strings") {
  const TempFolder folder;
  const Tensor text = Tensor::from({"a"});
  CHECK_THROWS_AS(data::save_npy(folder / "a.npy", text), InvalidArgument);
  CHECK_THROWS_AS(data::savez(folder / "a.npz", {{"x", text}}), InvalidArgument);
  CHECK_FALSE(std::filesystem::exists(folder / "a.npy"));
}

TEST_CASE("zip goes on in step after an element that can't be made") {
  auto zipped = Dataset::zip({failing(6, {2}), Dataset::range(6)}).ignore_errors();
  CHECK(numbers(zipped) == Numbers{0, 0, 1, 1, 3, 3, 4, 4, 5, 5});
}

TEST_CASE("a window size that can't be told leaves no group behind") {
  const auto grouped = [] {
    return Dataset::range(9).group_by_window(
        [](const Tensor& x) { return ops::mod(x, 3); },
        [](const Tensor&, const Dataset& group) { return group.batch(4); },
        [](int64_t key) { return int64_t{key == 2 ? 0 : key + 1}; });
  };
  auto iterator = grouped().iterator();
  Element element;
  CHECK_THROWS_AS(while (iterator.next(element)){}, InvalidArgument);
  CHECK_FALSE(iterator.save().is_null());
  CHECK(numbers(grouped().ignore_errors()).size() == 6);
}

TEST_CASE("repeat without end has no end, however little is known") {
  const auto odd = Dataset::range(8).filter([](const Tensor& x) { return ops::mod(x, 2) > 0; });
  CHECK(odd.repeat().cardinality() == kInfiniteCardinality);
  CHECK(odd.repeat(2).cardinality() == std::nullopt);
  CHECK(Dataset::range(INT64_MIN, INT64_MAX).cardinality() == INT64_MAX);
}

TEST_CASE("a repetition without elements is followed by others") {
  const auto small = [](const Dataset& one) {
    return one.take(1).filter([](const Tensor& x) { return x < 5; });
  };
  const auto shuffled = Dataset::range(10).shuffle(10, {.seed = 1});
  const auto each = small(shuffled).repeat(40);
  const std::vector<int64_t> all = numbers(each);
  CHECK(all.size() > 10);
  CHECK(all.size() < 30);
  auto begun = each.iterator();
  std::vector<int64_t> joined = numbers(begun, 5);
  auto restored = each.iterator();
  restored.restore(begun.save());
  for (const int64_t number : numbers(restored)) joined.push_back(number);
  CHECK(joined != all);  // from another pass
  CHECK(joined.size() > 10);
  const auto kept =
      small(Dataset::range(10).shuffle(10, {.seed = 1, .reshuffle_each_iteration = false}));
  CHECK(numbers(kept.repeat(40)).size() == 40 * numbers(kept).size());
  const auto rejected = Dataset::range(1)
                            .rejection_resample([](const Tensor& x) { return x; }, {0.5, 0.5},
                                                {.initial_dist = {0.9, 0.1}, .seed = 2})
                            .repeat(200);
  CHECK(numbers(rejected).size() > 10);
  // Nothing is drawn: all repetitions are the same.
  const auto none = Dataset::range(3).filter([](const Tensor& x) { return x > 5; });
  CHECK(numbers(none.repeat(INT64_MAX)).empty());
  CHECK(numbers(small(shuffled).filter([](const Tensor& x) { return x > 5; }).repeat()).empty());
}

TEST_CASE("a damaged record file ends there, and the next one begins") {
  const TempFolder folder;
  const auto write = [&](const char* name, const Strings& records) {
    data::TFRecordWriter writer(folder / name);
    for (const std::string& record : records) writer.write(record);
    writer.close();
    return (folder / name).string();
  };
  const std::string bad = write("bad", {"b1", "b2", "b3"});
  const std::string good = write("good", {"g1", "g2"});
  write_file(bad, read_file(bad).substr(0, 28));  // within the second record
  Strings all;
  for (const Element& element : data::TFRecordDataset({bad, good}).ignore_errors()) {
    all.push_back(element.tensor(0).item<std::string>());
  }
  CHECK(all == Strings{"b1", "g1", "g2"});
  // A file whose writing is interrupted by an exception isn't put in place.
  CHECK_THROWS_AS(
      {
        data::TFRecordWriter writer(folder / "good");
        writer.write("x");
        raise<DataLoss>("half-way");
      },
      DataLoss);
  int64_t left = 0;
  for (const Element& element : data::TFRecordDataset(good)) left += element.size();
  CHECK(left == 2);
}

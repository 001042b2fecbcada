// SPDX-License-Identifier: Apache-2.0
// Chains whose links are moved to other inputs.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "data/csv.h"
#include "data/node.h"
#include "data/text_files.h"
#include "data/tf_record.h"
#include "data/timeseries_dataset.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"
#include "tests/support/files.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using data::NodePtr;

namespace {

// Copies every link, down to the sources or to `from`, which is replaced by `to`.
NodePtr rewritten(const NodePtr& node, const NodePtr& from, const NodePtr& to,
                  std::map<NodePtr, NodePtr>& known) {
  if (node == from) return to;
  if (known.contains(node)) return known[node];
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs()) {
    inputs.push_back(rewritten(input, from, to, known));
  }
  return known[node] = node->with_inputs(std::move(inputs));
}

Dataset over(const Dataset& dataset, const Dataset& from, const Dataset& to) {
  std::map<NodePtr, NodePtr> known;
  return Dataset(rewritten(dataset.node(), from.node(), to.node(), known));
}

std::string text_of(const Dataset& dataset) {
  std::string text;
  for (const Element& element : dataset) {
    for (const Tensor& tensor : element.tensors()) text += tensor.to_string() + ";";
    text += "\n";
  }
  return text;
}

// Takes int64 scalars, returns anything.
using Build = std::function<Dataset(const Dataset&)>;

using Builds = std::map<std::string, Build>;

Builds transforms_with_functions() {
  const auto batch_of_two = [](const Dataset& window) { return window.batch(2); };
  const auto odd = [](const Tensor& x) { return ops::equal(ops::mod(x, 2), 1); };
  return {
      {"bucket",
       [](const Dataset& d) {
         return d.bucket_by_sequence_length([](const Tensor& x) { return ops::mod(x, 4); }, {2},
                                            {2, 3});
       }},
      {"filter", [=](const Dataset& d) { return d.filter(odd); }},
      {"flat_map",
       [](const Dataset& d) {
         return d.flat_map([](const Tensor&) { return Dataset::range(2); });
       }},
      {"group_by_window",
       [](const Dataset& d) {
         return d.group_by_window([](const Tensor& x) { return ops::mod(x, 3); },
                                  [](int64_t, const Dataset& group) { return group.batch(2); }, 2);
       }},
      {"interleave",
       [](const Dataset& d) {
         return d.interleave([](const Tensor&) { return Dataset::range(3).shuffle(3); });
       }},
      {"map", [](const Dataset& d) { return d.map([](const Tensor& x) { return x * 2; }); }},
      {"random map",
       [](const Dataset& d) {
         return d.map([](const Tensor& x) { return std::pair(x, random::uniform({2})); });
       }},
      {"host map",
       [](const Dataset& d) {
         return d.map([](const Tensor& x) { return Tensor::scalar(x.item<int64_t>() + 1); });
       }},
      {"map and batch",
       [](const Dataset& d) { return d.map([](const Tensor& x) { return x * 2; }).batch(2); }},
      {"rejection_resample",
       [](const Dataset& d) {
         return d.rejection_resample([](const Tensor& x) { return ops::mod(x, 2); }, {0.3, 0.7});
       }},
      {"scan",
       [](const Dataset& d) {
         return d.scan(Tensor::scalar(int64_t{0}), [](const Tensor& sum, const Tensor& x) {
           return std::pair(sum + x, sum + x);
         });
       }},
      {"take_while",
       [](const Dataset& d) {
         return d.take_while([](const Tensor& x) { return ops::not_equal(ops::mod(x, 8), 7); });
       }},
      {"window", [=](const Dataset& d) { return d.window(2).flat_map(batch_of_two); }},
  };
}

Builds transforms() {
  Builds all = transforms_with_functions();
  all.merge(Builds{
      {"assert_cardinality", [](const Dataset& d) { return d.assert_cardinality(12); }},
      {"batch", [](const Dataset& d) { return d.batch(5); }},
      {"batch of several calls",
       [](const Dataset& d) { return d.batch(5, {.num_parallel_calls = 2}); }},
      {"cache", [](const Dataset& d) { return d.cache(); }},
      {"choose",
       [](const Dataset& d) {
         return Dataset::choose_from_datasets({d, Dataset::range(100, 110)},
                                              Dataset::range(2).repeat());
       }},
      {"concatenate", [](const Dataset& d) { return d.concatenate(d.take(3)); }},
      {"enumerate", [](const Dataset& d) { return d.enumerate(); }},
      {"ignore_errors", [](const Dataset& d) { return d.ignore_errors(); }},
      {"padded_batch", [](const Dataset& d) { return d.padded_batch(5); }},
      {"prefetch", [](const Dataset& d) { return d.prefetch(2); }},
      {"ragged_batch", [](const Dataset& d) { return d.batch(5).ragged_batch(2); }},
      {"repeat", [](const Dataset& d) { return d.shuffle(4).repeat(2); }},
      {"sample",
       [](const Dataset& d) {
         return Dataset::sample_from_datasets({d, Dataset::range(100, 104)});
       }},
      {"shard", [](const Dataset& d) { return d.shard(2, 1); }},
      {"shuffle", [](const Dataset& d) { return d.shuffle(5); }},
      {"skip", [](const Dataset& d) { return d.skip(5); }},
      {"take", [](const Dataset& d) { return d.take(5); }},
      {"unbatch", [](const Dataset& d) { return d.batch(5).unbatch(); }},
      {"unique", [](const Dataset& d) { return d.unique(); }},
      {"with_options", [](const Dataset& d) { return d.with_options({}); }},
      {"zip",
       [](const Dataset& d) {
         return Dataset::zip({d, d.shuffle(3)});
       }},
      {"zip of names",
       [](const Dataset& d) {
         return Dataset::zip({{"a", d}, {"b", d.shuffle(3)}});
       }},
  });
  return all;
}

// Checks that a copy of all links yields the same elements as the chain, and shares no link with
// it.
void check_copies(const std::string& name, const Dataset& dataset) {
  CAPTURE(name);
  const NodePtr& node = dataset.node();
  CHECK(node->with_inputs(node->inputs()) == node);
  const Dataset source = Dataset::range(0);
  const Dataset copy = over(dataset, source, source);
  CHECK(text_of(copy) == text_of(dataset));
  CHECK(copy.element_spec() == dataset.element_spec());
  CHECK(copy.cardinality() == dataset.cardinality());
}

}  // namespace

TEST_CASE("every transform on other inputs gives what it would have given of them") {
  const Dataset first =
      Dataset::from_tensor_slices(ops::arange(int64_t{0}, int64_t{12}, int64_t{1}, DType::Int64));
  const Dataset second =
      Dataset::from_tensor_slices(ops::arange(int64_t{36}, int64_t{48}, int64_t{1}, DType::Int64));
  const Dataset third = Dataset::range(36, 48);
  for (const auto& transform : transforms()) {
    const auto& build = transform.second;
    CAPTURE(transform.first);
    set_random_seed(7);
    const Dataset original = build(first);
    set_random_seed(7);
    const Dataset wanted = build(second);
    const std::string text = text_of(original);
    // Seeds that were already drawn are copied.
    const Dataset moved = over(original, first, second);
    CHECK(text_of(moved) == text_of(wanted));
    CHECK(moved.element_spec() == original.element_spec());
    CHECK(data::describe_chain(*moved.node()) == data::describe_chain(*wanted.node()));
    // To a source that isn't a table of rows, and back.
    CHECK(text_of(over(moved, second, third)) == text_of(over(original, first, third)));
    CHECK(text_of(over(over(moved, second, third), third, first)) == text);
  }
}

TEST_CASE("sources and readers of files have copies") {
  const auto with_end = [](const Dataset& source) { return source.take(3); };
  const TempFolder folder;
  write_text(folder / "lines.txt", "1,2\n3,4\n");
  const std::string path = (folder / "lines.txt").string();
  { data::TFRecordWriter(folder / "records").write("one"); }
  const Tensor series = ops::arange(0.0, 10.0, 1.0, DType::Float32);
  check_copies("counter", with_end(Dataset::counter(3)));
  check_copies("random", with_end(Dataset::random()));
  check_copies("range", with_end(Dataset::range(8)));
  check_copies("tensors", with_end(Dataset::from_tensors(series)));
  check_copies("slices", with_end(Dataset::from_tensor_slices(series)));
  check_copies("generator", with_end(Dataset::from_generator([n = 0]() mutable {
                 return n < 4 ? std::optional<Element>(Tensor::scalar(n++)) : std::nullopt;
               })));
  check_copies("list_files", Dataset::list_files(path));
  check_copies("lines", data::TextLineDataset({path}));
  check_copies("fixed lengths", data::FixedLengthRecordDataset({path}, 4));
  check_copies("records", data::TFRecordDataset({(folder / "records").string()}));
  check_copies("csv", data::CsvDataset({path}, {Tensor::scalar(0), Tensor::scalar(0)}));
  check_copies("csv columns", data::make_csv_dataset({path}, 1, {.num_epochs = 1}));
  check_copies("series", data::timeseries_dataset_from_array(series, Tensor(), 3));
}

TEST_CASE("a cache on other inputs keeps what those give; seeds stay those of the original") {
  const Dataset ten = Dataset::range(10);
  const Dataset cached = ten.cache();
  numbers(cached);
  CHECK(numbers(over(cached, ten, Dataset::range(20, 23))) == std::vector<int64_t>{20, 21, 22});
  CHECK(numbers(cached) == numbers(ten));

  const Dataset shuffled = ten.shuffle(10);
  const Dataset copy = over(shuffled, ten, Dataset::range(10));
  auto iterator = ten.shuffle(10).iterator();
  auto restored = copy.iterator();
  restored.restore(iterator.save());
  CHECK(numbers(restored) == numbers(iterator));
  auto later = shuffled.iterator();
  later.restore(iterator.save());
  // Restoring a position through one sets the seeds of both.
  CHECK(copy.node()->drawn_seed() == shuffled.node()->drawn_seed());
  // But passes are counted separately.
  CHECK(numbers(over(copy, ten, ten)) != numbers(copy));
}

TEST_CASE("a link takes inputs of its own kind only") {
  const Dataset numbers = Dataset::range(3);
  const NodePtr batched = numbers.batch(2).node();
  CHECK_THROWS_WITH_AS(batched->with_inputs({}), "batch(2): expected 1 inputs, got 0.",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(batched->with_inputs({Dataset::from_tensors(Tensor::scalar(1.0f)).node()}),
                       "batch(2): expected an input of the kind int64 (), got float32 ().",
                       InvalidArgument);
  class Own : public data::Node {
   public:
    using Node::Node;
    std::string describe() const override { return "own"; }
    data::StreamPtr<Element> elements(data::Pass pass) const override {
      return input().elements(pass);
    }
  };
  const auto own = std::make_shared<Own>(std::vector<NodePtr>{numbers.node()});
  CHECK(own->with_inputs({numbers.node()}) == own);
  CHECK_THROWS_WITH_AS(own->with_inputs({Dataset::range(3).node()}),
                       "own: it can't be put on other inputs, since its class doesn't override "
                       "clone().",
                       Unimplemented);
}

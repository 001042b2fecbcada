// SPDX-License-Identifier: Apache-2.0
#include "framework/train/array_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>

#include "framework/core/random.h"
#include "framework/core/rows.h"
#include "framework/core/strings.h"
#include "framework/io/tensor_checksum.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/strategy/pass_counter.h"
#include "framework/strategy/source_over.h"
#include "framework/strategy/source_position.h"
#include "framework/strategy/streams.h"

namespace cornu {
namespace {

using streams::Row;
using streams::RowList;
using streams::StreamPtr;

// The arrays, and state shared by a source and the sources derived from it.
struct Arrays {
  Tensors x;
  Tensors y;
  Tensors sample_weight;
  int64_t rows = 0;
  bool shuffled = false;
  std::atomic<uint64_t> seed{0};
  PassCounter passes;

  // Returns the row order of a pass; empty if the rows aren't shuffled.
  std::vector<Row> order(int64_t pass) const {
    std::vector<Row> order;
    if (!shuffled) return order;
    order.resize(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), Row{0});
    PhiloxEngine random(seed, static_cast<uint64_t>(pass));
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
  }

  std::string describe() const {
    std::vector<std::string> types;
    for (const Tensors* tensors : {&x, &y, &sample_weight}) {
      for (size_t i = 0; i < tensors->size(); ++i) {
        const std::string name = tensors->has_names() ? tensors->names()[i] + ": " : "";
        types.push_back(fmt::format("{}{} {}", name, (*tensors)[i].dtype(), (*tensors)[i].shape()));
      }
    }
    return fmt::format("arrays({}){}", join(types, ", "), shuffled ? " | shuffle" : "");
  }

  Json checksums() const {
    Json all = Json::object();
    for (const auto& [name, tensors] :
         {std::pair("x", &x), std::pair("y", &y), std::pair("sample_weight", &sample_weight)}) {
      Json::Array sums;
      for (const Tensor& tensor : *tensors) sums.push_back(checksum_of_values(tensor));
      all.set(name, std::move(sums));
    }
    return all;
  }

  Batch gather(const RowList& list) const {
    auto part = [&](const Tensors& tensors) {
      std::vector<Tensor> result;
      for (const Tensor& tensor : tensors) result.push_back(gather_rows(tensor, list.rows));
      return tensors.with(std::move(result));
    };
    return {part(x), part(y), part(sample_weight)};
  }
};

// Assigns rows to batches.
struct Batching {
  std::function<StreamPtr<RowList>(int64_t pass)> open;
  int64_t batches = 0;
  int64_t batch_size = 0;
  std::string text;  // what they depend on
  // If batches were divided into `parts`: the description before that. A position in one of `parts`
  // shards of the divided batches is a position in the original batches.
  std::string whole_text = {};
  int64_t parts = 1;
  std::string part;  // which shard this is
};

class ArrayIterator : public BatchIterator {
 public:
  ArrayIterator(std::shared_ptr<Arrays> arrays, const Batching& batching)
      : arrays_(std::move(arrays)),
        batching_(batching),
        pass_(arrays_->passes.begin(batching.part)) {}

  bool next(Batch& batch) override {
    RowList list;
    if (!opened().next(list)) return false;
    batch = arrays_->gather(list);
    ++consumed_;
    return true;
  }

  Json save() const override { return position().to_json(); }

  void restore(const Json& json) override {
    require_new();
    go_to(SourcePosition::read(json, position(), "Arrays"));
  }
  void restore_examples(const Json& json) override {
    require_new();
    go_to(SourcePosition::read_examples(json, position(), "Arrays"));
  }

 private:
  void require_new() const {
    check<FailedPrecondition>(!stream_,
                              "Arrays: a position can be restored by a new iterator only.");
  }
  void go_to(const SourcePosition& saved) {
    if (arrays_->shuffled) arrays_->seed = saved.seeds.front();
    pass_ = saved.pass;
    arrays_->passes.set_next(batching_.part, saved.next_pass);
    consumed_ = opened().skip(saved.consumed);
    saved.check_reached(consumed_, "Arrays");
  }

  // Opened lazily: a restored iterator opens a different one.
  streams::Stream<RowList>& opened() {
    if (!stream_) stream_ = batching_.open(pass_);
    return *stream_;
  }
  SourcePosition position() const {
    SourcePosition here{arrays_->describe() + batching_.text, pass_, consumed_, {}};
    here.examples = arrays_->rows;
    here.next_pass = arrays_->passes.next(batching_.part);
    if (arrays_->shuffled) here.seeds.push_back(arrays_->seed);
    return here;
  }

  std::shared_ptr<Arrays> arrays_;
  Batching batching_;
  int64_t pass_;
  int64_t consumed_ = 0;
  StreamPtr<RowList> stream_;
};

class ArraySource : public BatchSource, public std::enable_shared_from_this<ArraySource> {
 public:
  ArraySource(std::shared_ptr<Arrays> arrays, Batching batching)
      : arrays_(std::move(arrays)), batching_(std::move(batching)) {}

  std::unique_ptr<BatchIterator> iterate() const override {
    return std::make_unique<ArrayIterator>(arrays_, batching_);
  }
  std::optional<int64_t> cardinality() const override { return batching_.batches; }
  Json facts() const override {
    return Json::object({{"dataset", arrays_->describe() + batching_.text},
                         {"checksums of the arrays", arrays_->checksums()}});
  }
  std::vector<uint64_t> order_keys() const override {
    if (!arrays_->shuffled) return {};
    return {arrays_->seed, static_cast<uint64_t>(arrays_->passes.next(batching_.part))};
  }
  void set_order_keys(const std::vector<uint64_t>& keys) const override {
    if (!arrays_->shuffled) return BatchSource::set_order_keys(keys);
    check<InvalidArgument>(keys.size() == 2, "Arrays: expected a seed and a pass, got {} numbers.",
                           keys.size());
    arrays_->seed = keys[0];
    arrays_->passes.set_next(batching_.part, static_cast<int64_t>(keys[1]));
  }

  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    check<InvalidArgument>(0 <= index && index < count,
                           "Arrays: expected a shard in [0, {}), got {}.", count, index);
    if (count == 1) return std::const_pointer_cast<ArraySource>(shared_from_this());
    Batching sharded = batching_;
    sharded.open = [open = batching_.open, count, index](int64_t pass) {
      return std::make_unique<streams::EvenShardStream<RowList>>([=] { return open(pass); }, count,
                                                                 index);
    };
    sharded.batches = streams::parts_of(batching_.batches, count);
    sharded.text = count == batching_.parts
                       ? batching_.whole_text
                       : batching_.text + fmt::format(" | shard({}, {})", count, index);
    sharded.parts = 1;
    sharded.part += fmt::format("{}/{} ", index, count);
    return std::make_shared<ArraySource>(arrays_, std::move(sharded));
  }

  std::shared_ptr<BatchSource> divide(int64_t parts) const override {
    check<InvalidArgument>(parts >= 1, "Arrays: expected at least 1 part of a batch, got {}.",
                           parts);
    if (parts == 1) return std::const_pointer_cast<ArraySource>(shared_from_this());
    Batching divided = batching_;
    divided.open = [open = batching_.open, parts](int64_t pass) {
      return std::make_unique<streams::DivideStream<RowList>>(open(pass), parts);
    };
    divided.batches = streams::saturating_product(batching_.batches, parts);
    divided.whole_text = batching_.text;
    divided.parts = parts;
    divided.text += fmt::format(" | divide({})", parts);
    return std::make_shared<ArraySource>(arrays_, std::move(divided));
  }

 private:
  std::shared_ptr<Arrays> arrays_;
  Batching batching_;
};

Batching batches_of(const std::shared_ptr<const Arrays>& arrays, int64_t batch_size) {
  auto open = [arrays, batch_size](int64_t pass) {
    return std::make_unique<streams::RowListStream>(
        std::make_unique<streams::RowStream>(arrays->rows, arrays->order(pass)), batch_size);
  };
  return {.open = open,
          .batches = streams::parts_of(arrays->rows, batch_size),
          .batch_size = batch_size,
          .text = fmt::format(" | batch({})", batch_size),
          .part = ""};
}

class ClassWeightSource : public SourceOver {
 public:
  ClassWeightSource(std::shared_ptr<BatchSource> source, std::map<int64_t, double> weights)
      : SourceOver(std::move(source)), weights_(std::move(weights)) {}

  std::unique_ptr<BatchIterator> iterate() const override {
    return std::make_unique<Iterator>(source()->iterate(), weights_);
  }
  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    return std::make_shared<ClassWeightSource>(source()->shard(count, index), weights_);
  }
  std::shared_ptr<BatchSource> divide(int64_t parts) const override {
    return std::make_shared<ClassWeightSource>(source()->divide(parts), weights_);
  }

 private:
  class Iterator : public BatchIterator {
   public:
    Iterator(std::unique_ptr<BatchIterator> inner, const std::map<int64_t, double>& weights)
        : inner_(std::move(inner)), weights_(weights) {}
    bool next(Batch& batch) override {
      if (!inner_->next(batch)) return false;
      batch.sample_weight = weigh(batch);
      return true;
    }
    Json save() const override { return inner_->save(); }
    void restore(const Json& position) override { inner_->restore(position); }
    void restore_examples(const Json& position) override { inner_->restore_examples(position); }

   private:
    Tensor weigh(const Batch& batch) const {
      check<InvalidArgument>(batch.y.size() == 1 && batch.y[0].rank() >= 1,
                             "class_weight needs a single target of class indices or one-hot "
                             "rows, got {} targets.",
                             batch.y.size());
      const Tensor y = batch.y[0].host();
      const int64_t rows = y.shape().front();
      const int64_t columns = y.rank() > 1 ? y.shape().back() : 1;
      check<InvalidArgument>(y.num_elements() == rows * columns && columns > 0,
                             "class_weight needs one label an example, a class index or a "
                             "one-hot row, got targets of shape {}. Give sample_weight instead.",
                             y.shape());
      check<InvalidArgument>(batch.sample_weight.empty(),
                             "class_weight was given, and the data have sample weights of "
                             "their own. Multiply it into them.");
      Tensor weights = Tensor::empty({rows}, DType::Float32);
      dispatch_dtype(y.dtype(), [&](auto t) {
        const auto* values = reinterpret_cast<const decltype(t)*>(y.raw());
        for (int64_t row = 0; row < rows; ++row) {
          const auto* first = values + row * columns;
          const auto number = static_cast<double>(*first);
          check<InvalidArgument>(columns > 1 || std::abs(number) < 1e18,
                                 "class_weight needs class indices, but the label of row {} "
                                 "of a batch is {}. Labels are numbers of classes.",
                                 row, number);
          const int64_t label = columns == 1 ? static_cast<int64_t>(std::nearbyint(number))
                                             : std::max_element(first, first + columns) - first;
          const auto it = weights_.find(label);
          weights.mutable_data<float>()[row] =
              it == weights_.end() ? 1.0f : static_cast<float>(it->second);
        }
      });
      return weights;
    }

    std::unique_ptr<BatchIterator> inner_;
    std::map<int64_t, double> weights_;
  };

  std::map<int64_t, double> weights_;
};

// "x: 8, 8; y: 7", for those that are present.
std::string sizes_text(const Tensors& x, const Tensors& y, const Tensors& sample_weight) {
  std::vector<std::string> texts;
  auto add = [&](const char* name, const Tensors& tensors) {
    std::vector<std::string> sizes;
    for (const Tensor& tensor : tensors) {
      sizes.push_back(tensor.rank() > 0 ? std::to_string(tensor.shape().front()) : "a scalar");
    }
    if (!sizes.empty()) texts.push_back(fmt::format("{}: {}", name, join(sizes, ", ")));
  };
  add("x", x);
  add("y", y);
  add("sample_weight", sample_weight);
  return join(texts, "; ");
}

void check_rows(const Tensors& x, const Tensors& y, const Tensors& sample_weight) {
  check<InvalidArgument>(!x.empty(), "expected input data, got none. Give x at least one array.");
  for (const Tensors* given : {&x, &y, &sample_weight}) {
    for (const Tensor& tensor : *given) {
      check<InvalidArgument>(tensor.defined() && !is_placeholder(tensor),
                             "expected arrays of values, got {}. Give the data; a placeholder "
                             "(what Input and layers called on it return) only makes models.",
                             tensor.defined() ? "a placeholder" : "an undefined tensor");
    }
  }
  const int64_t rows = x[0].rank() > 0 ? x[0].shape().front() : 0;
  auto differs = [&](const Tensor& tensor) {
    return tensor.rank() == 0 || tensor.shape().front() != rows;
  };
  const bool wrong = std::ranges::any_of(x, differs) || std::ranges::any_of(y, differs) ||
                     std::ranges::any_of(sample_weight, differs);
  check<InvalidArgument>(!wrong,
                         "expected as many samples in every array, got {}. Row i of each belongs "
                         "to sample i.",
                         sizes_text(x, y, sample_weight));
  check<InvalidArgument>(rows > 0,
                         "expected at least one sample, got arrays of none: x of shape {}. Check "
                         "where they were read or filtered.",
                         x[0].shape());
}

// Rows are gathered on the host, whichever device they go to.
Tensors on_host(const Tensors& tensors) {
  const bool all_there = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.is_symbolic() || (tensor.on_host() && !tensor.is_bound());
  });
  if (all_there) return tensors;
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(tensor.is_symbolic() ? tensor : tensor.host());
  }
  return tensors.with(std::move(result));
}

int64_t batch_size_for(const ArraySourceOptions& options, int64_t rows) {
  if (options.batch_size) return std::min(*options.batch_size, rows);
  const int64_t steps = options.steps.value_or(0);  // below 1: rejected with the other options
  return steps > 0 ? 1 + (rows - 1) / steps : std::min<int64_t>(32, rows);
}

}  // namespace

Tensors given_inputs(const Tensors& x) {
  const bool is_whole = std::ranges::all_of(x, [](const Tensor& input) { return input.defined(); });
  if (is_whole || !x.has_names()) return x;
  std::vector<Tensors::Named> given;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].defined()) given.emplace_back(x.names()[i], x[i]);
  }
  return Tensors::named(std::move(given));
}

std::shared_ptr<BatchSource> make_array_source(const Tensors& inputs, const Tensors& y,
                                               const Tensors& sample_weight,
                                               const ArraySourceOptions& options) {
  const Tensors x = given_inputs(inputs);
  check_rows(x, y, sample_weight);
  check<InvalidArgument>(options.batch_size.value_or(1) > 0,
                         "Expected a batch_size of at least 1, got {}.",
                         options.batch_size.value_or(1));
  const auto arrays = std::make_shared<Arrays>();
  arrays->x = on_host(x);
  arrays->y = on_host(y);
  arrays->sample_weight = on_host(sample_weight);
  arrays->rows = x[0].shape().front();
  arrays->shuffled = options.shuffle_seed.has_value();
  arrays->seed = options.shuffle_seed.value_or(0);
  return std::make_shared<ArraySource>(arrays,
                                       batches_of(arrays, batch_size_for(options, arrays->rows)));
}

std::shared_ptr<BatchSource> with_class_weight(std::shared_ptr<BatchSource> source,
                                               std::map<int64_t, double> class_weight) {
  if (class_weight.empty()) return source;
  return std::make_shared<ClassWeightSource>(std::move(source), std::move(class_weight));
}

SplitArrays split_arrays(const Tensors& inputs, const Tensors& y, const Tensors& sample_weight,
                         double fraction) {
  const Tensors x = given_inputs(inputs);
  check_rows(x, y, sample_weight);
  check<InvalidArgument>(fraction > 0 && fraction < 1,
                         "fit: expected a validation_split in (0, 1), got {}.", fraction);
  const int64_t rows = x[0].shape().front();
  const auto kept = static_cast<int64_t>(static_cast<double>(rows) * (1.0 - fraction));
  check<InvalidArgument>(kept > 0 && kept < rows,
                         "fit: a validation_split of {} leaves {} of {} samples for training. Use "
                         "another fraction.",
                         fraction, kept, rows);
  const Batch all{x, y, sample_weight};
  const Batch training = rows_of(all, 0, kept);
  const Batch validation = rows_of(all, kept, rows);
  return {training.x,   training.y,   training.sample_weight,
          validation.x, validation.y, validation.sample_weight};
}

}  // namespace cornu

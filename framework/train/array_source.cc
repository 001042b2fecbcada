// SPDX-License-Identifier: Apache-2.0
#include "framework/train/array_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <span>

#include "framework/core/random.h"
#include "framework/core/rows.h"
#include "framework/core/strings.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

class ArraySource : public BatchSource, public std::enable_shared_from_this<ArraySource> {
 public:
  ArraySource(const Tensors& x, const Tensors& y, const Tensors& sample_weight,
              const ArraySourceOptions& options)
      : x_(x), y_(y), sample_weight_(sample_weight), options_(options) {
    rows_ = x[0].rank() > 0 ? x[0].shape().front() : 0;
  }

  std::unique_ptr<BatchIterator> iterate() const override;
  std::optional<int64_t> cardinality() const override {
    return (rows_ + options_.batch_size - 1) / options_.batch_size;
  }

  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    check<InvalidArgument>(0 <= index && index < count,
                           "Arrays: expected a shard in [0, {}), got {}.", count, index);
    if (count == 1) return std::const_pointer_cast<ArraySource>(shared_from_this());
    std::vector<int64_t> rows;
    for (int64_t row = index; row < rows_; row += count) rows.push_back(row);
    auto take = [&](const Tensors& tensors) {
      std::vector<Tensor> parts;
      for (const Tensor& tensor : tensors) {
        parts.push_back(gather_rows(tensor, rows));
      }
      return tensors.with(std::move(parts));
    };
    return std::make_shared<ArraySource>(take(x_), take(y_), take(sample_weight_), options_);
  }

  std::shared_ptr<BatchSource> rebatch(int64_t batch_size) const override {
    ArraySourceOptions options = options_;
    options.batch_size = batch_size;
    return std::make_shared<ArraySource>(x_, y_, sample_weight_, options);
  }

  // The order of a pass; empty when rows come as they stand.
  std::vector<int64_t> order(uint64_t pass) const {
    std::vector<int64_t> rows;
    if (!options_.shuffle_seed) return rows;
    rows.resize(static_cast<size_t>(rows_));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    PhiloxEngine random(*options_.shuffle_seed, pass);
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
    return rows;
  }

  void read(std::span<const int64_t> order, int64_t begin, Batch& batch) const {
    const int64_t end = std::min(rows_, begin + options_.batch_size);
    auto part = [&](const Tensor& tensor) {
      if (order.empty()) return tensor.rows(begin, end);
      return gather_rows(
          tensor, order.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    };
    auto parts = [&](const Tensors& tensors) {
      std::vector<Tensor> result;
      for (const Tensor& tensor : tensors) result.push_back(part(tensor));
      return tensors.with(std::move(result));
    };
    batch.x = parts(x_);
    batch.y = parts(y_);
    batch.sample_weight = parts(sample_weight_);
  }

  int64_t rows() const { return rows_; }
  int64_t batch_size() const { return options_.batch_size; }
  uint64_t next_pass() const { return passes_++; }

 private:
  Tensors x_;
  Tensors y_;
  Tensors sample_weight_;
  ArraySourceOptions options_;
  int64_t rows_ = 0;
  mutable std::atomic<uint64_t> passes_{0};
};

class ArrayIterator : public BatchIterator {
 public:
  explicit ArrayIterator(std::shared_ptr<const ArraySource> source)
      : source_(std::move(source)), pass_(source_->next_pass()), order_(source_->order(pass_)) {}

  bool next(Batch& batch) override {
    if (at_ >= source_->rows()) return false;
    source_->read(order_, at_, batch);
    at_ += source_->batch_size();
    return true;
  }

  Json save() const override {
    return Json::object({{"pass", static_cast<int64_t>(pass_)}, {"row", at_}});
  }

  void restore(const Json& position) override {
    pass_ = static_cast<uint64_t>(position.at("pass").as_int());
    at_ = position.at("row").as_int();
    check<FailedPrecondition>(at_ >= 0 && at_ % source_->batch_size() == 0,
                              "Arrays: row {} isn't the start of a batch of {}. The saved position "
                              "belongs to other batches.",
                              at_, source_->batch_size());
    order_ = source_->order(pass_);
  }

 private:
  std::shared_ptr<const ArraySource> source_;
  uint64_t pass_;
  std::vector<int64_t> order_;
  int64_t at_ = 0;
};

std::unique_ptr<BatchIterator> ArraySource::iterate() const {
  return std::make_unique<ArrayIterator>(shared_from_this());
}

class ClassWeightSource : public BatchSource {
 public:
  ClassWeightSource(std::shared_ptr<BatchSource> source, std::map<int64_t, double> weights)
      : source_(std::move(source)), weights_(std::move(weights)) {}

  std::unique_ptr<BatchIterator> iterate() const override {
    return std::make_unique<Iterator>(source_->iterate(), weights_);
  }
  std::optional<int64_t> cardinality() const override { return source_->cardinality(); }
  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    return std::make_shared<ClassWeightSource>(source_->shard(count, index), weights_);
  }
  std::shared_ptr<BatchSource> rebatch(int64_t batch_size) const override {
    return std::make_shared<ClassWeightSource>(source_->rebatch(batch_size), weights_);
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

   private:
    Tensor weigh(const Batch& batch) const {
      check<InvalidArgument>(batch.y.size() == 1 && batch.y[0].rank() >= 1,
                             "fit: class_weight needs a single target of class indices or one-hot "
                             "rows, got {} targets.",
                             batch.y.size());
      const Tensor& y = batch.y[0];
      const int64_t rows = y.shape().front();
      const int64_t columns = rows > 0 ? y.num_elements() / rows : 1;
      check<InvalidArgument>(batch.sample_weight.empty(),
                             "fit: class_weight was given, and the data have sample weights of "
                             "their own. Multiply it into them.");
      Tensor weights = Tensor::empty({rows}, DType::Float32);
      dispatch_dtype(y.dtype(), [&](auto t) {
        const auto* values = reinterpret_cast<const decltype(t)*>(y.raw());
        for (int64_t row = 0; row < rows; ++row) {
          const auto* first = values + row * columns;
          const auto number = static_cast<double>(*first);
          check<InvalidArgument>(columns > 1 || std::abs(number) < 1e18,
                                 "fit: class_weight needs class indices, but the label of row {} "
                                 "of a batch is {}. Labels are numbers of classes.",
                                 row, number);
          const int64_t label = columns == 1 ? static_cast<int64_t>(number)
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

  std::shared_ptr<BatchSource> source_;
  std::map<int64_t, double> weights_;
};

// "x: 8, 8; y: 7", what there is of them.
std::string sizes_text(const Tensors& x, const Tensors& y, const Tensors& sample_weight) {
  std::vector<std::string> texts;
  auto add = [&](const char* name, const Tensors& tensors) {
    std::vector<std::string> sizes;
    for (const Tensor& tensor : tensors) {
      sizes.push_back(std::to_string(tensor.rank() > 0 ? tensor.shape().front() : 0));
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

}  // namespace

std::shared_ptr<BatchSource> make_array_source(const Tensors& x, const Tensors& y,
                                               const Tensors& sample_weight,
                                               const ArraySourceOptions& options) {
  check_rows(x, y, sample_weight);
  check<InvalidArgument>(options.batch_size > 0, "fit: expected a batch_size >= 1, got {}.",
                         options.batch_size);
  ArraySourceOptions within = options;
  within.batch_size = std::min(options.batch_size, x[0].shape().front());
  return std::make_shared<ArraySource>(x, y, sample_weight, within);
}

std::shared_ptr<BatchSource> with_class_weight(std::shared_ptr<BatchSource> source,
                                               std::map<int64_t, double> class_weight) {
  if (class_weight.empty()) return source;
  return std::make_shared<ClassWeightSource>(std::move(source), std::move(class_weight));
}

SplitArrays split_arrays(const Tensors& x, const Tensors& y, const Tensors& sample_weight,
                         double fraction) {
  check_rows(x, y, sample_weight);
  check<InvalidArgument>(fraction > 0 && fraction < 1,
                         "fit: expected a validation_split in (0, 1), got {}.", fraction);
  const int64_t rows = x[0].shape().front();
  const auto kept = static_cast<int64_t>(static_cast<double>(rows) * (1.0 - fraction));
  check<InvalidArgument>(kept > 0 && kept < rows,
                         "fit: a validation_split of {} leaves {} of {} samples for training. Use "
                         "another fraction.",
                         fraction, kept, rows);
  auto part = [&](const Tensors& tensors, int64_t begin, int64_t end) {
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors) result.push_back(tensor.rows(begin, end));
    return tensors.with(std::move(result));
  };
  return {part(x, 0, kept),    part(y, 0, kept),    part(sample_weight, 0, kept),
          part(x, kept, rows), part(y, kept, rows), part(sample_weight, kept, rows)};
}

}  // namespace cornu

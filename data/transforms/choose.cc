// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/dataset.h"
#include "data/serialization/links.h"
#include "data/transforms/specs.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, ChooseFromDatasetsOptions& options) {
  fields("stop_on_empty_dataset", options.stop_on_empty_dataset);
}

template <class Fields>
void visit_fields(Fields& fields, SampleFromDatasetsOptions& options) {
  fields("weights", options.weights.fixed);
  fields("seed", options.seed);
  fields("stop_on_empty_dataset", options.stop_on_empty_dataset);
  fields("rerandomize_each_iteration", options.rerandomize_each_iteration);
}

SampleWeights::SampleWeights(const Dataset& weights) : varying(weights.node()) {}

namespace {

// The index of the dataset from which to take the next element.
class Choices : public Stream<Row> {
 public:
  // Called when the dataset has no more elements.
  virtual void drop(Row) {}
};

// Reads the choices from a dataset of indices.
class GivenChoices : public Choices {
 public:
  explicit GivenChoices(StreamPtr<Element> numbers) : numbers_(std::move(numbers)) {}

  bool next(Row& choice) override {
    Element number;
    if (!numbers_.next(number)) return false;
    choice = number.tensor(0).item<int64_t>();
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override { numbers_.leave_out(count, left_out); }
  Json save() const override { return numbers_.save(); }
  void restore(const Json& state) override { numbers_.restore(state); }

 private:
  Input<Element> numbers_;
};

// Draws an index with a probability proportional to its weight, given the cumulative sums of the
// weights.
Row drawn(const std::vector<double>& sums, uint64_t key, uint64_t number, uint64_t pass) {
  const auto words = philox(key, number, pass);
  const double point = to_unit_double(words[0], words[1]) * sums.back();
  auto at = std::upper_bound(sums.begin(), sums.end(), point);
  if (at == sums.end()) at = std::lower_bound(sums.begin(), sums.end(), sums.back());
  return at - sums.begin();
}

// Ends when no dataset has elements. Choice k depends on the key, k and on which datasets have
// elements.
class DrawnChoices : public Choices {
 public:
  DrawnChoices(std::vector<double> weights, uint64_t key, uint64_t pass)
      : weights_(std::move(weights)), key_(key), pass_(pass) {
    add_up();
  }

  bool next(Row& choice) override {
    if (sums_.back() == 0) return false;
    choice = drawn(sums_, key_, number_++, pass_);
    return true;
  }
  void drop(Row choice) override {
    weights_[static_cast<size_t>(choice)] = 0;
    add_up();
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    number_ += static_cast<uint64_t>(count);
    left_out += count;
  }

 private:
  void add_up() {
    sums_.resize(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), sums_.begin());
  }

  std::vector<double> weights_;  // 0 for exhausted datasets
  std::vector<double> sums_;     // cumulative sums of the weights
  uint64_t key_;
  uint64_t pass_;
  uint64_t number_ = 0;
};

// Reads the weights from a dataset: choice k depends on the key, k and the k-th weights.
class WeighedChoices : public Choices {
 public:
  WeighedChoices(StreamPtr<Element> weights, size_t datasets, uint64_t key, uint64_t pass)
      : weights_(std::move(weights)), sums_(datasets), key_(key), pass_(pass) {}

  bool next(Row& choice) override {
    Element weights;
    if (!weights_.next(weights)) return false;
    const int64_t number = weights_.taken() - 1;
    const Tensor& tensor = weights.tensor(0);
    check<InvalidArgument>(tensor.shape() == Shape{std::ssize(sums_)},
                           "sample_from_datasets: expected {} weights, one for each dataset, got "
                           "the shape {} as element {} of the weights.",
                           sums_.size(), tensor.shape(), number);
    if (tensor.dtype() == DType::Float32) {
      add_up(tensor.data<float>(), number);
    } else {
      add_up(tensor.data<double>(), number);
    }
    choice = drawn(sums_, key_, static_cast<uint64_t>(number), pass_);
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override { weights_.leave_out(count, left_out); }
  Json save() const override { return weights_.save(); }
  void restore(const Json& state) override { weights_.restore(state); }

 private:
  template <class Weights>
  void add_up(const Weights& weights, int64_t number) {
    double sum = 0;
    for (size_t i = 0; i < sums_.size(); ++i) {
      const double weight = weights[i];
      check<InvalidArgument>(std::isfinite(weight) && weight >= 0,
                             "sample_from_datasets: expected weights of at least 0, got {} in "
                             "element {} of the weights.",
                             weight, number);
      sum += weight;
      sums_[i] = sum;
    }
    check<InvalidArgument>(sum > 0 && std::isfinite(sum),
                           "sample_from_datasets: expected a weight above 0 in element {} of the "
                           "weights, and a finite sum, got a sum of {}.",
                           number, sum);
  }

  Input<Element> weights_;
  std::vector<double> sums_;  // cumulative sums of the weights
  uint64_t key_;
  uint64_t pass_;
};

class ChosenStream : public Stream<Element> {
 public:
  ChosenStream(std::unique_ptr<Choices> choices, std::vector<StreamPtr<Element>> inputs, bool stops)
      : from_(*choices), choices_(std::move(choices)), stops_(stops), left_(inputs.size()) {
    for (auto& input : inputs) inputs_.push_back({Input<Element>(std::move(input)), false});
  }

  bool next(Element& element) override {
    Row choice;
    while (left_ > 0 && choices_.next(choice)) {
      check<InvalidArgument>(0 <= choice && choice < std::ssize(inputs_),
                             "choose_from_datasets: expected a choice in [0, {}), got {} as "
                             "choice {}.",
                             inputs_.size(), choice, choices_.taken() - 1);
      From& from = inputs_[static_cast<size_t>(choice)];
      if (!from.ended && from.input.next(element)) return true;
      if (!from.ended) end(choice);
    }
    return false;
  }

  Json save() const override {
    Json inputs = Json::array();
    for (const From& from : inputs_) {
      Json state = from.input.position();
      if (from.ended) state.set("ended", true);
      inputs.push_back(std::move(state));
    }
    return Json::object({{"choices", choices_.position()}, {"inputs", inputs}});
  }
  void restore(const Json& state) override {
    const Json& inputs = streams::saved_part(state, "inputs");
    check<DataLoss>(inputs.is_array() && inputs.size() == inputs_.size(),
                    "a position's state {} is damaged: expected those of {} datasets.",
                    state.excerpt(), inputs_.size());
    choices_.restore(streams::saved_part(state, "choices"));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].input.restore(inputs[i]);
      if (inputs[i].contains("ended")) end(static_cast<Row>(i));
    }
  }

 private:
  void end(Row dataset) {
    inputs_[static_cast<size_t>(dataset)].ended = true;
    from_.drop(dataset);
    left_ = stops_ ? 0 : left_ - 1;
  }

  struct From {
    Input<Element> input;
    bool ended;
  };

  Choices& from_;  // points into choices_
  Input<Row> choices_;
  bool stops_;  // with the first exhausted dataset
  std::vector<From> inputs_;
  size_t left_;  // number of datasets that aren't exhausted
};

// Takes elements from several datasets, as determined by Choices.
class FromDatasets : public Node {
 public:
  FromDatasets(std::vector<NodePtr> inputs, size_t datasets, bool stops, const char* who)
      : Node(std::move(inputs)), datasets_(datasets), stops_(stops) {
    check<InvalidArgument>(datasets > 0, "{}: expected datasets, got none.", who);
    spec_ = this->inputs()[0]->spec();
    for (size_t i = 1; i < datasets; ++i) spec_ = merged(spec_, this->inputs()[i]->spec(), who);
    find_end();
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    return endless_ ? std::optional(kInfiniteCardinality) : std::nullopt;
  }

  StreamPtr<Element> elements(Pass pass) const override {
    std::vector<StreamPtr<Element>> streams;
    for (size_t i = 0; i < datasets_; ++i) {
      streams.push_back(inputs()[i]->stream(pass_of_input(i, pass)));
    }
    return std::make_unique<ChosenStream>(choices(pass), std::move(streams), stops_);
  }

 protected:
  virtual std::unique_ptr<Choices> choices(Pass pass) const = 0;
  void inputs_changed() override { find_end(); }
  size_t datasets() const { return datasets_; }
  bool stops() const { return stops_; }
  const char* stop_text() const { return stops_ ? "stopping" : "to the end"; }

 private:
  void find_end() {
    const auto is_endless = [](const NodePtr& input) {
      return input->cardinality() == kInfiniteCardinality;
    };
    const auto choices = inputs().begin() + static_cast<std::ptrdiff_t>(datasets_);
    endless_ = std::all_of(choices, inputs().end(), is_endless) &&
               (stops_ ? std::all_of(inputs().begin(), choices, is_endless)
                       : std::any_of(inputs().begin(), choices, is_endless));
  }

  size_t datasets_;  // number of inputs to choose from; later inputs determine the choices
  bool endless_ = false;
  bool stops_;
  ElementSpec spec_;
};

class Chosen : public FromDatasets {
 public:
  Chosen(std::vector<NodePtr> inputs, const ChooseFromDatasetsOptions& options)
      : FromDatasets(inputs, inputs.size() - 1, options.stop_on_empty_dataset,
                     "choose_from_datasets") {
    const ElementSpec& spec = this->inputs().back()->spec();
    check<InvalidArgument>(spec.types.size() == 1 && spec.types[0].dtype == DType::Int64 &&
                               spec.types[0].shape.rank() == 0,
                           "choose_from_datasets: expected a choice_dataset of int64 scalars, got "
                           "{}.",
                           spec.to_string());
  }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("choose_from_datasets({})", stop_text());
  }
  void write(LinkWriter& link) const override {
    link.kind("choose_from_datasets").options(ChooseFromDatasetsOptions{stops()});
  }

 protected:
  std::unique_ptr<Choices> choices(Pass pass) const override {
    return std::make_unique<GivenChoices>(
        inputs().back()->stream(pass_of_input(inputs().size() - 1, pass)));
  }
};

class Sampled : public FromDatasets {
 public:
  // If the weights come from a dataset, it is the last input.
  Sampled(std::vector<NodePtr> inputs, const SampleFromDatasetsOptions& options)
      : FromDatasets(inputs, inputs.size() - (options.weights.varying ? 1 : 0),
                     options.stop_on_empty_dataset, "sample_from_datasets"),
        options_(options),
        seed_(seed_or_next(options.seed)) {
    options_.weights.varying.reset();  // it is an input now
    weights_ = options.weights.fixed;
    if (weights_.empty()) weights_.assign(datasets(), 1);
  }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format(
        "sample_from_datasets({}{}{}, {})",
        varies_weights() ? "by weights" : fmt::format("{}", fmt::join(weights_, " ")),
        options_.seed ? fmt::format(", seed {}", *options_.seed) : "",
        options_.rerandomize_each_iteration ? ", anew" : "", stop_text());
  }
  std::atomic<uint64_t>* drawn_seed() const override {
    return options_.seed ? nullptr : seed_.get();
  }
  bool is_reshuffled() const override { return options_.rerandomize_each_iteration; }
  void write(LinkWriter& link) const override {
    link.kind("sample_from_datasets").options(options_);
    if (varies_weights()) link(kVaries, true);
  }

  static constexpr const char* kVaries = "weights_vary";

 protected:
  std::unique_ptr<Choices> choices(Pass pass) const override {
    const uint64_t order = options_.rerandomize_each_iteration ? pass.id : 0;
    if (!varies_weights()) {
      return std::make_unique<DrawnChoices>(weights_, seed_.in(pass), order);
    }
    return std::make_unique<WeighedChoices>(
        inputs().back()->stream(pass_of_input(datasets(), pass)), datasets(), seed_.in(pass),
        order);
  }

 private:
  bool varies_weights() const { return inputs().size() > datasets(); }

  SampleFromDatasetsOptions options_;
  std::vector<double> weights_;
  SharedSeed seed_;
};

// Samples with weights from a dataset.
NodePtr make_weighed(std::vector<NodePtr> inputs, const SampleFromDatasetsOptions& options) {
  const NodePtr& weights = options.weights.varying;
  const auto& types = weights->spec().types;
  const bool are_vectors =
      types.size() == 1 && types[0].shape.rank() == 1 &&
      (types[0].dtype == DType::Float32 || types[0].dtype == DType::Float64) &&
      (types[0].shape.front() == kUnknown || types[0].shape.front() == std::ssize(inputs));
  check<InvalidArgument>(
      are_vectors,
      "sample_from_datasets: expected weights of float32 or float64 vectors with "
      "a number for each of {} datasets, got {}.",
      inputs.size(), weights->spec().to_string());
  inputs.push_back(weights);
  return std::make_shared<Sampled>(std::move(inputs), options);
}

}  // namespace

NodePtr make_choose(std::vector<NodePtr> inputs, NodePtr choices,
                    const ChooseFromDatasetsOptions& options) {
  inputs.push_back(std::move(choices));
  return std::make_shared<Chosen>(std::move(inputs), options);
}

NodePtr make_sample(std::vector<NodePtr> inputs, SampleFromDatasetsOptions options) {
  if (options.weights.varying) return make_weighed(std::move(inputs), options);
  std::vector<double>& weights = options.weights.fixed;
  check<InvalidArgument>(weights.empty() || weights.size() == inputs.size(),
                         "sample_from_datasets: expected {} weights, one for each dataset, got {}.",
                         inputs.size(), weights.size());
  std::vector<NodePtr> used;
  std::vector<double> positive;
  for (size_t i = 0; i < weights.size(); ++i) {
    check<InvalidArgument>(std::isfinite(weights[i]) && weights[i] >= 0,
                           "sample_from_datasets: expected weights of at least 0, got {}.",
                           weights[i]);
    if (weights[i] == 0) continue;  // as in tf.data, it isn't waited for
    used.push_back(inputs[i]);
    positive.push_back(weights[i]);
  }
  if (!weights.empty()) {
    check<InvalidArgument>(!used.empty(),
                           "sample_from_datasets: expected a weight above 0, got none.");
    inputs = std::move(used);
    weights = std::move(positive);
  }
  return std::make_shared<Sampled>(std::move(inputs), options);
}

NodePtr read_choose(LinkReader& link) {
  return std::make_shared<Chosen>(link.inputs(), link.options<ChooseFromDatasetsOptions>());
}

NodePtr read_sample(LinkReader& link) {
  auto options = link.options<SampleFromDatasetsOptions>();
  std::vector<NodePtr> inputs = link.inputs();
  if (link.has(Sampled::kVaries)) {
    options.weights.varying = inputs.back();
    inputs.pop_back();
  }
  return make_sample(std::move(inputs), options);
}

}  // namespace cornu::data

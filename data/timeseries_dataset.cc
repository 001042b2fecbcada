// SPDX-License-Identifier: Apache-2.0
#include "data/timeseries_dataset.h"

#include <algorithm>
#include "data/serialization/links.h"

#include "data/numpy_random.h"
#include "data/sources/sources.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"
#include "framework/core/rows.h"

namespace cornu::data {
namespace {

constexpr const char* kTimeseries = "timeseries_dataset_from_array";

struct Series {
  Tensor data;     // [start_index, end_index)
  Tensor targets;  // the same range, or undefined
  int64_t length;  // of a window
  int64_t rate;
};

// The windows that begin at the given steps.
class SeriesWindows : public Node {
 public:
  // `starts`: int64 () or (batch).
  SeriesWindows(NodePtr starts, Series series)
      : Node({std::move(starts)}), series_(std::move(series)) {
    const Shape outer = input().spec().types.front().shape;
    const auto inner = [](const Tensor& tensor) {
      const auto& dims = tensor.shape();
      return Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
    };
    spec_.types.push_back(
        {series_.data.dtype(), outer.concat({series_.length}).concat(inner(series_.data))});
    std::vector<Structure> parts(1);
    if (series_.targets.defined()) {
      spec_.types.push_back({series_.targets.dtype(), outer.concat(inner(series_.targets))});
      parts.emplace_back();
    }
    spec_.structure = std::make_shared<const Structure>(Structure::of_components(std::move(parts)));
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("windows({} of {} each, to {})", series_.data.dim(0), series_.rate,
                       spec_.to_string());
  }
  void write(LinkWriter& link) const override {
    link.kind("series_windows")("data", series_.data)("targets", series_.targets)(
        "sequence_length", series_.length)("sampling_rate", series_.rate);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<WindowStream>(input().stream(pass), *this);
  }

 private:
  class WindowStream : public Stream<Element> {
   public:
    WindowStream(StreamPtr<Element> starts, const SeriesWindows& windows)
        : starts_(std::move(starts)), windows_(windows) {}
    bool next(Element& element) override {
      Element starts;
      if (!starts_->next(starts)) return false;
      element = windows_.gathered(starts.tensor(0));
      return true;
    }
    void leave_out(int64_t count, int64_t& left_out) override {
      starts_->leave_out(count, left_out);
    }

   private:
    StreamPtr<Element> starts_;
    const SeriesWindows& windows_;
  };

  Element gathered(const Tensor& starts) const {
    std::vector<int64_t> rows;
    for (const int64_t start : starts.data<int64_t>()) {
      for (int64_t i = 0; i < series_.length; ++i) rows.push_back(start + i * series_.rate);
    }
    const auto shaped = [](const Tensor& gathered, const Shape& outer) {
      const Shape& shape = gathered.shape();
      return gathered.with_shape(
          outer.concat(Shape(std::vector<int64_t>(shape.begin() + 1, shape.end()))));
    };
    std::vector<Tensor> tensors = {
        shaped(gather_rows(series_.data, rows), starts.shape().concat({series_.length}))};
    if (series_.targets.defined()) {
      tensors.push_back(
          shaped(gather_rows(series_.targets, starts.data<int64_t>()), starts.shape()));
    }
    return Element(std::move(tensors), spec_.structure);
  }

  Series series_;
  ElementSpec spec_;
};

void check_numbers(int64_t steps, int64_t sequence_length, const TimeseriesOptions& options) {
  const auto within = [&](const char* what, int64_t value, int64_t least, int64_t below) {
    check<InvalidArgument>(value >= least && value < below,
                           "{}: expected {} of {} to {} for data of {} steps, got {}.", kTimeseries,
                           what, least, below - 1, steps, value);
  };
  within("sequence_length", sequence_length, 1, steps + 1);
  within("sampling_rate", options.sampling_rate, 1, steps);
  within("sequence_stride", options.sequence_stride, 1, steps);
  if (options.start_index) within("start_index", *options.start_index, 0, steps);
  if (options.end_index) {
    within("end_index", *options.end_index, options.start_index.value_or(0) + 1, steps);
  }
}

}  // namespace

Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets,
                                      int64_t sequence_length, const TimeseriesOptions& options) {
  check<InvalidArgument>(data.defined() && data.rank() >= 1, "{}: expected data of steps, got {}.",
                         kTimeseries, data.to_string());
  check<InvalidArgument>(!targets.defined() || targets.rank() >= 1,
                         "{}: expected a target for each step, got {}.", kTimeseries,
                         targets.to_string());
  const int64_t steps = data.dim(0);
  check_numbers(steps, sequence_length, options);
  const int64_t start = options.start_index.value_or(0);
  const int64_t end = options.end_index.value_or(steps);
  // The product is below steps^2, and steps is the size of an existing array.
  int64_t count = end - start - saturating_product(sequence_length - 1, options.sampling_rate);
  Series series{data.host().rows(start, end), {}, sequence_length, options.sampling_rate};
  if (targets.defined()) {
    count = std::min(count, targets.dim(0));
    series.targets =
        targets.host().rows(std::min(start, targets.dim(0)), std::min(end, targets.dim(0)));
    const int64_t last =
        count <= 0 ? 0 : (count - 1) / options.sequence_stride * options.sequence_stride;
    check<InvalidArgument>(count <= 0 || last < series.targets.dim(0),
                           "{}: expected targets up to step {}, got {}.", kTimeseries, start + last,
                           targets.dim(0));
  }
  check<InvalidArgument>(count > 0, "{}: there is no window of {} steps, {} apart, in [{}, {}).",
                         kTimeseries, sequence_length, options.sampling_rate, start, end);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < count; i += options.sequence_stride) starts.push_back(i);
  if (options.shuffle) {
    const auto seed = options.seed.value_or(static_cast<int64_t>(next_seed() >> 32));
    NumpyRandomState(seed).shuffle(std::span(starts));
  }
  NodePtr node = make_tensor_slices(Tensor::from(starts));
  if (options.shuffle) {
    const int64_t buffer =
        options.batch_size ? saturating_product(*options.batch_size, 8) : int64_t{1024};
    node = make_shuffle(std::move(node), buffer, {.seed = options.seed});
  }
  if (options.batch_size) node = make_batch(std::move(node), *options.batch_size, {});
  return Dataset(make_prefetch(std::make_shared<SeriesWindows>(std::move(node), std::move(series)),
                               kAutotune));
}

NodePtr read_series_windows(LinkReader& link) {
  const ElementSpec& starts = link.input()->spec();
  check<InvalidArgument>(starts.types.size() == 1 && starts.types[0].dtype == DType::Int64 &&
                             starts.types[0].shape.rank() <= 1,
                         "expected the steps that windows begin at, got {}.", starts);
  Series series{link.get<Tensor>("data"), link.get<Tensor>("targets"),
                link.get<int64_t>("sequence_length"), link.get<int64_t>("sampling_rate")};
  check<InvalidArgument>(series.data.defined() && series.data.rank() >= 1 &&
                             (!series.targets.defined() || series.targets.rank() >= 1),
                         "expected data of steps, and targets of steps or none.");
  const int64_t steps = series.data.dim(0);
  check<InvalidArgument>(
      series.length >= 1 && series.rate >= 1 &&
          streams::saturating_product(series.length - 1, series.rate) < std::max<int64_t>(steps, 1),
      "expected windows within {} steps, got {} steps that are {} apart.", steps, series.length,
      series.rate);
  return std::make_shared<SeriesWindows>(link.input(), std::move(series));
}

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
#include "data/readers/example_columns.h"

#include <algorithm>
#include <utility>

#include "data/readers/exact_scalar.h"

namespace cornu::data {
namespace {

template <class T>
class ColumnOf : public ExampleColumn {
 public:
  ColumnOf(const FeatureKind& kind, const Shape& outer) : kind_(kind), outer_(outer) {}

  void add(const FeatureValues& values, int64_t number) final {
    if (!values.set && kind_.required) {
      raise<InvalidArgument>(
          "{}: example {}: the feature '{}' ({} {}) is missing, and there is no default for it.",
          kind_.who, number, kind_.key, to_string(kind_.dtype), kind_.shape.to_string());
    }
    check<InvalidArgument>(!values.set || values.dtype == kind_.dtype,
                           "{}: example {}: the feature '{}' was expected to be {}, it is {}.",
                           kind_.who, number, kind_.key, to_string(kind_.dtype),
                           to_string(values.dtype));
    add_values(values, number);
  }

 protected:
  virtual void add_values(const FeatureValues& values, int64_t number) = 0;

  const FeatureKind& kind_;
  Shape outer_;
};

template <class T>
class FixedColumn : public ColumnOf<T> {
 public:
  FixedColumn(const FeatureKind& kind, const Shape& outer)
      : ColumnOf<T>(kind, outer),
        tensor_(Tensor::empty(outer.concat(kind.shape), kind.dtype)),
        places_(tensor_.mutable_data<T>().data()) {}

  Tensor finish() override { return tensor_; }

 protected:
  void add_values(const FeatureValues& values, int64_t number) override {
    const FeatureKind& kind = this->kind_;
    const auto size = static_cast<size_t>(kind.size);
    T* places = std::exchange(places_, places_ + size);
    if (!values.set) {
      const auto from = kind.default_value.template data<T>();
      std::copy(from.begin(), from.end(), places);
      return;
    }
    ValueSink<T> sink(places, size);
    read_values(values.list, sink);
    if (sink.count() == size) return;
    raise<InvalidArgument>(
        "{}: example {}: the feature '{}' was expected to have {} values, of the shape {}, it has "
        "{}.",
        kind.who, number, kind.key, size, kind.shape, sink.count());
  }

 private:
  Tensor tensor_;
  T* places_;
};

// A variable number of values, or of rows of values.
template <class T>
class AnyColumn : public ColumnOf<T> {
 public:
  using ColumnOf<T>::ColumnOf;

  Tensor finish() override {
    const FeatureKind& kind = this->kind_;
    const int64_t size = kind.count == FeatureKind::Count::Any ? 1 : kind.size;
    const int64_t most = counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end());
    const Shape shape = this->outer_.concat({most / size}).concat(kind.shape);
    Tensor tensor = Tensor::empty(shape, kind.dtype);
    auto place = tensor.mutable_data<T>().begin();
    auto from = values_.begin();
    const T filler = kind.default_value.defined() ? kind.default_value.template data<T>()[0] : T();
    for (const int64_t count : counts_) {
      place = std::move(from, from + count, place);
      place = std::fill_n(place, most - count, filler);
      from += count;
    }
    return tensor;
  }

 protected:
  void add_values(const FeatureValues& values, int64_t number) override {
    const FeatureKind& kind = this->kind_;
    const size_t before = values_.size();
    ValueSink<T> sink(values_);
    if (values.set) read_values(values.list, sink);
    const auto count = static_cast<int64_t>(values_.size() - before);
    check<InvalidArgument>(kind.count == FeatureKind::Count::Any || count % kind.size == 0,
                           "{}: example {}: the feature '{}' was expected to have rows of {} "
                           "values, of the shape {}, it has {} values.",
                           kind.who, number, kind.key, kind.size, kind.shape, count);
    counts_.push_back(count);
  }

 private:
  std::vector<T> values_;
  std::vector<int64_t> counts_;
};

template <class T>
std::unique_ptr<ExampleColumn> column_of(const FeatureKind& kind, const Shape& outer) {
  if (kind.count == FeatureKind::Count::Fixed) return std::make_unique<FixedColumn<T>>(kind, outer);
  return std::make_unique<AnyColumn<T>>(kind, outer);
}

// `value` converted to the feature's dtype: a scalar, or of its shape.
Tensor default_of(const FeatureKind& kind, const Tensor& value) {
  const bool numbers = value.dtype() != DType::String && kind.dtype != DType::String;
  check<InvalidArgument>(value.dtype() == kind.dtype || (numbers && value.is_weak()),
                         "{}: the default_value of the feature '{}' was expected to be {}, got {}.",
                         kind.who, kind.key, to_string(kind.dtype), to_string(value.dtype()));
  const Tensor host = value.host();
  if (!value.is_weak()) return host;
  return exact_scalar(value.weak_value(), kind.dtype,
                      fmt::format("{}: the default_value of the feature '{}'", kind.who, kind.key));
}

}  // namespace

Tensor spread(const Tensor& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  Tensor all = Tensor::empty(shape, value.dtype());
  const auto fill = [&]<class T>(T) {
    const auto places = all.mutable_data<T>();
    std::fill(places.begin(), places.end(), value.data<T>()[0]);
  };
  if (value.dtype() == DType::String) {
    fill(std::string());
  } else {
    dispatch_dtype(value.dtype(), fill);
  }
  return all;
}

Tensor zero_of(DType dtype) {
  if (dtype == DType::String) return Tensor::scalar("");
  return dtype == DType::Int64 ? Tensor::scalar(int64_t{0}) : Tensor::scalar(0.0F);
}

FeatureKind feature_kind(const char* who, const std::string& key, const Feature& feature) {
  using Count = FeatureKind::Count;
  FeatureKind kind;
  kind.who = who;
  kind.key = key;
  if (const auto* fixed = std::get_if<FixedLenFeature>(&feature)) {
    kind.dtype = fixed->dtype;
    kind.shape = fixed->shape;
    kind.default_value = fixed->default_value;
    kind.required = !fixed->default_value.defined();
  } else if (const auto* any = std::get_if<VarLenFeature>(&feature)) {
    kind.count = Count::Any;
    kind.dtype = any->dtype;
  } else {
    const auto& rows = std::get<FixedLenSequenceFeature>(feature);
    kind.count = Count::Rows;
    kind.dtype = rows.dtype;
    kind.shape = rows.shape;
    kind.required = !rows.allow_missing;
    kind.default_value = rows.default_value;
  }
  check<InvalidArgument>(
      kind.dtype == DType::Int64 || kind.dtype == DType::Float32 || kind.dtype == DType::String,
      "{}: the feature '{}' was expected to be int64, float32 or string, got {}.", who, key,
      to_string(kind.dtype));
  check<InvalidArgument>(kind.shape.is_static(),
                         "{}: the feature '{}' was expected to have a known shape, got {}.", who,
                         key, kind.shape.to_string());
  kind.size = kind.shape.num_elements();
  check<InvalidArgument>(kind.count != Count::Rows || kind.size > 0,
                         "{}: the feature '{}' was expected to have rows of at least one value, "
                         "got the shape {}.",
                         who, key, kind.shape.to_string());
  if (kind.default_value.defined()) {
    const Tensor value = default_of(kind, kind.default_value);
    const bool scalar = value.rank() == 0;
    check<InvalidArgument>(
        scalar || (kind.count == Count::Fixed && value.shape() == kind.shape),
        "{}: the default_value of the feature '{}' was expected to be a scalar{}, got the shape "
        "{}.",
        who, key, kind.count == Count::Fixed ? " or of the shape " + kind.shape.to_string() : "",
        value.shape().to_string());
    kind.default_value = kind.count == Count::Fixed ? spread(value, kind.shape) : value;
  }
  return kind;
}

std::unique_ptr<ExampleColumn> make_column(const FeatureKind& kind, const Shape& outer) {
  if (kind.dtype == DType::String) return column_of<std::string>(kind, outer);
  if (kind.dtype == DType::Int64) return column_of<int64_t>(kind, outer);
  return column_of<float>(kind, outer);
}

}  // namespace cornu::data

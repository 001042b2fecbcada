// SPDX-License-Identifier: Apache-2.0
// The values of one feature of several examples, on their way into a tensor.
#pragma once

#include <memory>
#include <string>

#include "data/example.h"
#include "data/readers/example_values.h"

namespace cornu::data {

// A feature that is asked for, checked.
struct FeatureKind {
  enum class Count { Fixed, Any, Rows };

  const char* who = "";  // for errors
  std::string key;
  Count count = Count::Fixed;
  DType dtype = DType::Int64;
  Shape shape;       // of the whole, or of a row
  int64_t size = 1;  // values of that shape
  bool required = false;
  Tensor default_value;  // Fixed: of the shape, where not required; Rows: a scalar, or undefined
};

// InvalidArgument, naming the key, for what no feature can be.
FeatureKind feature_kind(const char* who, const std::string& key, const Feature& feature);

// A scalar as often as the shape has values.
Tensor spread(const Tensor& value, const Shape& shape);
// What fills places where there are no values: 0 or "".
Tensor zero_of(DType dtype);

class ExampleColumn {
 public:
  virtual ~ExampleColumn() = default;
  // What is at the next place, or isn't (`set`), of example `number`. InvalidArgument,
  // wire::Damage.
  virtual void add(const FeatureValues& values, int64_t number) = 0;
  virtual Tensor finish() = 0;
};

// `outer`: () for one example, else their number; or of steps. As many are added, in order. `kind`
// must outlive it.
std::unique_ptr<ExampleColumn> make_column(const FeatureKind& kind, const Shape& outer);

}  // namespace cornu::data

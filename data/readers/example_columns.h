// SPDX-License-Identifier: Apache-2.0
// Collects the values of a feature from several examples into a tensor.
#pragma once

#include <memory>
#include <string>

#include "data/example.h"
#include "data/readers/example_values.h"

namespace cornu::data {

// A requested feature after validation.
struct FeatureKind {
  enum class Count { Fixed, Any, Rows };

  const char* who = "";  // for errors
  std::string key;
  Count count = Count::Fixed;
  DType dtype = DType::Int64;
  Shape shape;       // of the whole value, or of a row
  int64_t size = 1;  // number of elements in that shape
  bool required = false;
  Tensor default_value;  // Fixed: of that shape, if not required; Rows: a scalar, or undefined
};

// Throws InvalidArgument, naming the key, for an invalid feature.
FeatureKind feature_kind(const char* who, const std::string& key, const Feature& feature);

// Broadcasts a scalar to a shape.
Tensor spread(const Tensor& value, const Shape& shape);
// The padding value: 0 or "".
Tensor zero_of(DType dtype);

class ExampleColumn {
 public:
  virtual ~ExampleColumn() = default;
  // Adds the values at the next position, or their absence (`set`), from example `number`. Throws
  // InvalidArgument and wire::Damage.
  virtual void add(const FeatureValues& values, int64_t number) = 0;
  virtual Tensor finish() = 0;
};

// `outer`: () for a single example, otherwise the number of examples, or of steps. As many must be
// added, in order. `kind` must outlive the column.
std::unique_ptr<ExampleColumn> make_column(const FeatureKind& kind, const Shape& outer);

}  // namespace cornu::data

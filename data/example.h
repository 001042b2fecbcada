// SPDX-License-Identifier: Apache-2.0
// tf.train.Example and SequenceExample: named lists of numbers or strings, in bytes.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data/element.h"

namespace cornu::data {

class LinkWriter;

// What to take from the examples. dtypes are int64, float32 and string.

// Values of one shape. Without a default_value (a scalar, or of the shape) every example must have
// them.
struct FixedLenFeature {
  Shape shape;
  DTypeLike dtype;
  Tensor default_value = {};
};

// Values of any number. They come as dense tensors, not as tf.SparseTensor: of one example
// (values), of several (examples, most values), filled up behind the values with 0 or "".
struct VarLenFeature {
  DTypeLike dtype;
};

// Values of any number of rows of one shape: of one example (rows, shape…), of several (examples,
// most rows, shape…), filled up with default_value (a scalar), else with 0 or "". In
// parse_single_sequence_example and parse_sequence_example, one row a step.
struct FixedLenSequenceFeature {
  Shape shape;
  DTypeLike dtype;
  bool allow_missing = false;  // an example without it has no rows
  Tensor default_value = {};
};

using Feature = std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature>;
using Features = std::vector<std::pair<std::string, Feature>>;

// Parses serialized tf.train.Examples into dictionaries of tensors, in the features' order. What
// examples hold besides is left out without being looked at. The functions below make one for each
// call; a map with one of one's own is faster:
//
//   auto parser = data::ExampleParser({{"image", data::FixedLenFeature{{28, 28}, "float32"}},
//                                      {"label", data::FixedLenFeature{{}, "int64"}}});
//   auto dataset = data::TFRecordDataset(paths).batch(64).map(parser);
//
// Of a string scalar it gives what parse_single_example does, of a vector what parse_example does,
// of more axes as many axes of examples.
// InvalidArgument, naming the key, when an example lacks a feature without a default, or has values
// of another type or number; DataLoss, naming the key and the place, for bytes that are no example.
// Copying shares; thread-safe. Batches of examples parse several times faster than single ones: a
// map with a parser of FixedLenFeatures alone that batch() follows is computed on batches.
class ExampleParser {
 public:
  // InvalidArgument for no features, names that come twice, other dtypes, unsuitable defaults.
  explicit ExampleParser(const Features& features);
  Element operator()(const Tensor& serialized) const;
  void write(LinkWriter& link) const;  // it travels with a dataset
  // Are all features of a fixed length, so that examples in a batch are as they are by themselves?
  bool works_on_batches() const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

// `serialized`: string (examples). Reference: tf.io.parse_example.
Element parse_example(const Tensor& serialized, const Features& features);
// `serialized`: string (). Reference: tf.io.parse_single_example.
Element parse_single_example(const Tensor& serialized, const Features& features);
// Of a serialized SequenceExample, string (): the pair of the context's features and those of the
// lists, which have a row for each step (VarLenFeature: (steps, most values), filled up; FixedLen
// features there are InvalidArgument). Where one of the two is empty, the other alone. Reference:
// tf.io.parse_single_sequence_example.
Element parse_single_sequence_example(const Tensor& serialized, const Features& context_features,
                                      const Features& sequence_features);

// Of serialized SequenceExamples, string (examples): the triple of the context's features, as
// parse_example gives them; those of the lists, (examples, most steps, shape…), filled up behind an
// example's steps with default_value, 0 or "" (VarLenFeature: (examples, most steps, most values));
// and how many steps each example has, int64 (examples) by list. tf.io's third one has no lengths
// of VarLenFeatures, which are sparse there. Where one of the two is empty, it is left out, as the
// lengths are without lists. Errors as ExampleParser's. Reference: tf.io.parse_sequence_example.
Element parse_sequence_example(const Tensor& serialized, const Features& context_features,
                               const Features& sequence_features);

// An example to be written: integers and bools of any type are kept as int64, floating-point
// numbers as float32, of any shape (which isn't kept).
//
//   writer.write(data::Example({{"label", 3}, {"image", Tensor::scalar(bytes)}}).serialize());
class Example {
 public:
  using Named = std::pair<std::string, Tensor>;

  Example() = default;
  Example(std::initializer_list<Named> features);
  Example& set(const std::string& name, const Tensor& values);  // instead of what it had
  std::string serialize() const;

 private:
  std::vector<Named> features_;
};

// The same of a tf.train.SequenceExample: a context, and lists with a tensor for each step.
class SequenceExample {
 public:
  SequenceExample& set_context(const std::string& name, const Tensor& values);
  SequenceExample& set_list(const std::string& name, const std::vector<Tensor>& steps);
  std::string serialize() const;

 private:
  std::vector<std::pair<std::string, Tensor>> context_;
  std::vector<std::pair<std::string, std::vector<Tensor>>> lists_;
};

}  // namespace cornu::data

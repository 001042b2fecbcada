// SPDX-License-Identifier: Apache-2.0
// What the guides share: data and weights that guide.py makes too, and the figures that Keras got
// from the same programs (golden/data/guides.json, made by make_goldens.py).
#pragma once

#include <cornu/cornu.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace cornu::guides {

// float32 numbers spread over [-scale, scale).
Tensor values(const Shape& shape, uint32_t seed, double scale = 1.0);
// float32 numbers spread over [0, 1).
Tensor positive(const Shape& shape, uint32_t seed);
// Class numbers, int32.
Tensor labels(int64_t count, int64_t classes, uint32_t seed);

// Gives weights, in the order of layer.weights(), values that depend on place and shape alone.
void initialize(const std::vector<Variable>& weights, uint32_t seed);
template <class L>
void initialize(const L& layer, uint32_t seed) {
  initialize(layer.weights(), seed);
}

// The text of model.summary() on a terminal of 80 columns.
std::string summary(Model& model, SummaryOptions options = {});

// How far sums of float32 in another order may lie apart after some steps of training.
struct Closeness {
  double relative = 2e-5;
  double absolute = 2e-6;
};

// Keras's figures of one program. check() fails the test where ours aren't the same: numbers to
// float32's last digits, all else exactly.
class Golden {
 public:
  explicit Golden(const std::string& program, const Closeness& close = {});

  void check(const std::string& name, const Json& ours) const;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void check(const std::string& name, Number ours) const {
    if constexpr (std::is_same_v<Number, bool>) {
      check(name, Json(ours));
    } else {
      check(name, Json(static_cast<double>(ours)));
    }
  }
  void check(const std::string& name, const Tensor& ours) const;
  void check(const std::string& name, const std::vector<double>& ours) const;
  void check(const std::string& name, const std::vector<std::string>& ours) const;
  // The same figures, whatever their order, with the same values.
  void check(const std::string& name, const Logs& ours) const;
  void check(const std::string& name, const History& ours) const;

 private:
  const Json& expected(const std::string& name) const;
  std::string program_;
  const Json& figures_;
  Closeness close_;
};

std::vector<std::string> paths_of(const std::vector<Variable>& weights);
// The path of a file that Keras wrote.
std::string keras_file(const std::string& name);

}  // namespace cornu::guides

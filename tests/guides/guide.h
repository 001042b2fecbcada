// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the guides: data and weights that guide.py makes too, and Keras's results of
// the same programs (golden/data/guides.json, written by make_goldens.py).
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
// Class indices, int32.
Tensor labels(int64_t count, int64_t classes, uint32_t seed);

// Sets the weights, in the order of layer.weights(), to values that depend only on position and
// shape.
void initialize(const std::vector<Variable>& weights, uint32_t seed);
template <class L>
void initialize(const L& layer, uint32_t seed) {
  initialize(layer.weights(), seed);
}

// Returns the text of model.summary() on a terminal of 80 columns.
std::string summary(Model& model, SummaryOptions options = {});

// The allowed difference after some training steps, since float32 sums are computed in a different
// order.
struct Closeness {
  double relative = 2e-5;
  double absolute = 2e-6;
};

// Keras's results of one program. check() fails the test unless ours are the same: numbers up to
// float32's last digits, everything else exactly.
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
  // Checks that the same metrics have the same values, in any order.
  void check(const std::string& name, const Logs& ours) const;
  void check(const std::string& name, const History& ours) const;

 private:
  const Json& expected(const std::string& name) const;
  std::string program_;
  const Json& figures_;
  Closeness close_;
};

std::vector<std::string> paths_of(const std::vector<Variable>& weights);
// The path of a file written by Keras.
std::string keras_file(const std::string& name);

}  // namespace cornu::guides

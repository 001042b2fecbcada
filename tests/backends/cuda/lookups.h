// SPDX-License-Identifier: Apache-2.0
// A step that looks up rows of a table twice.
#pragma once

#include <cornu/cornu.h>

#include <string>
#include <vector>

namespace cornu::cuda::testing {

// Trains the table with Adagrad or SGD.
struct Lookups {
  static constexpr int64_t kRows = 8192;
  static constexpr int64_t kWidth = 64;

  Variable table, accumulated;
  Function step;

  Lookups(const std::string& dtype, bool adagrad)
      : table(noise(1, dtype), {.name = "table"}),
        accumulated(noise(2, dtype), {.name = "accumulated"}),
        step(function([this, adagrad](const Tensor& first, const Tensor& second) {
          GradientTape tape;
          const Tensor x = ops::take(table, first, 0), y = ops::take(table, second, 0);
          const Tensor loss = ops::sum(x * x) + ops::sum(ops::sin(y));
          const Tensor gradient = tape.gradient(loss, table);
          if (adagrad) accumulated.assign_add(ops::square(gradient));
          table.assign_sub(adagrad ? gradient * 0.1f / ops::sqrt(accumulated) : gradient * 0.1f);
          return loss;
        })) {}

  static Tensor noise(int seed, const std::string& dtype) {
    return ops::cast(random::uniform({kRows, kWidth}, {.minval = 0.5, .maxval = 2, .seed = seed}),
                     dtype);
  }
};

inline Tensor numbers(const std::vector<int32_t>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

}  // namespace cornu::cuda::testing

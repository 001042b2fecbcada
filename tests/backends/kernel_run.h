// SPDX-License-Identifier: Apache-2.0
// Runs single CPU kernels, and compares their results.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"

namespace cornu::cpu::testing {

// For CAPTURE.
template <class T>
std::string text(const T& value) {
  return fmt::format("{}", value);
}

// Uniform in [-1, 1), or small integers; equal for equal seeds.
inline Tensor random_tensor(const Shape& shape, DType dtype, uint64_t seed) {
  Tensor tensor = Tensor::empty(shape, dtype);
  PhiloxEngine engine(seed);
  dispatch_dtype(dtype, [&]<class T>(T) {
    for (T& value : tensor.mutable_data<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        value = engine.below(2) == 1;
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(engine.below(9)) - static_cast<T>(std::is_signed_v<T> ? 4 : 0);
      } else {
        value = static_cast<T>(2 * engine.uniform() - 1);
      }
    }
  });
  return tensor;
}

// The elements as doubles.
inline std::vector<double> values_of(const Tensor& tensor) {
  return dispatch_dtype(tensor.dtype(), [&]<class T>(T) {
    const auto data = tensor.data<T>();
    std::vector<double> values;
    for (const T& value : data) {
      if constexpr (std::is_arithmetic_v<T>) {
        values.push_back(static_cast<double>(value));
      } else {
        values.push_back(static_cast<double>(static_cast<float>(value)));
      }
    }
    return values;
  });
}

// Converts a number to T. Integers wrap around, as C++ defines no conversion of numbers out of
// range.
template <class T>
T wrapped(double value) {
  if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::is_same_v<T, uint64_t> && value >= 0) return static_cast<T>(value);
    return static_cast<T>(static_cast<int64_t>(value));
  }
}

inline Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype);
  dispatch_dtype(dtype, [&]<class T>(T) {
    auto data = tensor.mutable_data<T>();
    for (size_t i = 0; i < data.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        data[i] = wrapped<T>(values[i]);
      } else {
        data[i] = T(static_cast<float>(values[i]));
      }
    }
  });
  return tensor;
}

// Makes kernels from the table that a register function fills.
class KernelRunner {
 public:
  explicit KernelRunner(void (*fill)(KernelTable&)) { fill(table_); }

  // Returns null if no kernel supports the spec.
  std::unique_ptr<Kernel> make(const std::string& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes,
                               const std::vector<TensorType>& outputs) const {
    const OpDef def{.name = op, .infer = {}, .vjp = {}, .traits = {}};
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) types.push_back(type_of(input));
    return table_.try_make({def, attributes, types, outputs});
  }

  // Runs a kernel twice over memory full of garbage: both runs must produce the same bits.
  std::vector<Tensor> run(const std::string& op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes,
                          const std::vector<TensorType>& outputs) const {
    auto kernel = make(op, inputs, attributes, outputs);
    REQUIRE_MESSAGE(kernel, "no kernel for " << op);
    const std::vector<Tensor> first = run_once(*kernel, inputs, outputs, 0xCD);
    const std::vector<Tensor> second = run_once(*kernel, inputs, outputs, 0x3A);
    CAPTURE(op);
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(std::memcmp(first[i].raw(), second[i].raw(), outputs[i].bytes()) == 0);
    }
    return first;
  }

 private:
  static std::vector<Tensor> run_once(Kernel& kernel, const std::vector<Tensor>& inputs,
                                      const std::vector<TensorType>& outputs, int rubbish) {
    std::vector<const void*> in;
    for (const Tensor& input : inputs) in.push_back(input.raw());
    std::vector<Tensor> results;
    std::vector<void*> out;
    for (const TensorType& type : outputs) {
      results.push_back(Tensor::empty(type.shape, type.dtype));
      std::memset(results.back().mutable_raw(), rubbish, type.bytes());
      out.push_back(results.back().mutable_raw());
    }
    const auto scratch_bytes = static_cast<int64_t>(kernel.scratch_bytes());
    Tensor scratch = Tensor::empty({scratch_bytes}, DType::UInt8);
    std::memset(scratch.mutable_raw(), rubbish, kernel.scratch_bytes());
    // A kernel that requests no scratch memory gets none, as from the backend.
    void* const memory = scratch_bytes > 0 ? scratch.mutable_raw() : nullptr;
    kernel.run({.in = in.data(), .out = out.data(), .scratch = memory});
    return results;
  }

  KernelTable table_;
};

// |result - expected| <= tolerance * max(1, |expected|) for every element; NaN equals NaN.
inline void check_close(const Tensor& result, const std::vector<double>& expected,
                        double tolerance) {
  const std::vector<double> values = values_of(result);
  REQUIRE(values.size() == expected.size());
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) && std::isnan(expected[i])) continue;
    if (values[i] == expected[i]) continue;
    if (std::abs(values[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i]))) {
      continue;
    }
    if (wrong++ == 0) first = fmt::format("[{}]: {}, not {}", i, values[i], expected[i]);
  }
  CHECK_MESSAGE(wrong == 0, wrong << " of " << values.size() << " differ, the first is " << first);
}

// Checks that one, two and three compute threads produce the same bits.
inline void check_thread_independent(const KernelRunner& kernels, const std::string& op,
                                     const std::vector<Tensor>& inputs,
                                     const Attributes& attributes,
                                     const std::vector<TensorType>& outputs) {
  std::vector<Tensor> reference;
  for (int threads = 1; threads <= 3; ++threads) {
    const ComputeThreadsScope scope(threads);
    const std::vector<Tensor> results = kernels.run(op, inputs, attributes, outputs);
    if (threads == 1) reference = results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(std::memcmp(results[i].raw(), reference[i].raw(), outputs[i].bytes()) == 0);
    }
  }
}

}  // namespace cornu::cpu::testing

// SPDX-License-Identifier: Apache-2.0
// Creating tensors by rule or from values (keras.ops.core and keras.ops.numpy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Converts x to `dtype` (None: its own; a C++ scalar becomes float32, int32 or bool, as in Keras).
Tensor array(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor convert_to_tensor(const Tensor& x, std::optional<DTypeLike> dtype = {});
// Returns the value of x. Throws FailedPrecondition for traced tensors and placeholders, which have
// no value yet.
Tensor convert_to_numpy(const Tensor& x);

inline Shape shape(const Tensor& x) { return x.shape(); }
inline int64_t ndim(const Tensor& x) { return x.rank(); }
inline bool is_tensor(const Tensor& x) { return x.defined(); }

struct SpaceOptions {
  bool endpoint = true;                 // whether `stop` is the last number
  std::optional<DTypeLike> dtype = {};  // None: the operands' common floating-point dtype
  int64_t axis = 0;                     // position of the new axis, for start and stop with axes
};

// `num` (>= 0) evenly spaced numbers from start to stop; both broadcast. Integers are rounded down.
Tensor linspace(const Tensor& start, const Tensor& stop, int64_t num = 50,
                const SpaceOptions& options = {});

struct LogspaceOptions {
  bool endpoint = true;
  double base = 10;
  std::optional<DTypeLike> dtype = {};
  int64_t axis = 0;
};

// base to the powers that linspace returns.
Tensor logspace(const Tensor& start, const Tensor& stop, int64_t num = 50,
                const LogspaceOptions& options = {});
// Numbers from start to stop with a constant ratio; both must have the same sign.
Tensor geomspace(const Tensor& start, const Tensor& stop, int64_t num = 50,
                 const SpaceOptions& options = {});

// Returns zeros: nothing is left uninitialized.
Tensor empty(const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor empty_like(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor identity(int64_t n, DTypeLike dtype = DType::Float32);

struct TriOptions {
  std::optional<int64_t> m = {};  // number of columns; None: same as rows
  int64_t k = 0;                  // the last diagonal of ones
  DTypeLike dtype = DType::Float32;
};

// A matrix of n rows with ones on and below diagonal k, and zeros above.
Tensor tri(int64_t n, const TriOptions& options = {});

// Coordinates of a grid: for vectors with n1, n2, n3, … elements, returns tensors of shape (n2, n1,
// n3, …) ("xy") or (n1, n2, n3, …) ("ij").
std::vector<Tensor> meshgrid(const std::vector<Tensor>& xs, const std::string& indexing = "xy");

// Powers of a vector's elements, one per column: N - 1, …, 0, or ascending. N None: x's size.
Tensor vander(const Tensor& x, std::optional<int64_t> n = {}, bool increasing = false);

// Symmetric windows of `size` points, float32 (Harris 1978).
Tensor bartlett(int64_t size);
Tensor blackman(int64_t size);
Tensor hamming(int64_t size);
Tensor hanning(int64_t size);
Tensor kaiser(int64_t size, double beta);

}  // namespace cornu::ops

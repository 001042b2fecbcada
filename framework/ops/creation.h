// SPDX-License-Identifier: Apache-2.0
// Tensors made of a rule, and of values (keras.ops.core and keras.ops.numpy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// x in `dtype` (None: its own; a C++ scalar becomes float32, int32 or bool, as Keras has it).
Tensor array(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor convert_to_tensor(const Tensor& x, std::optional<DTypeLike> dtype = {});
// The value of x. FailedPrecondition for one that has none yet: a traced one, or a placeholder.
Tensor convert_to_numpy(const Tensor& x);

inline Shape shape(const Tensor& x) { return x.shape(); }
inline int64_t ndim(const Tensor& x) { return x.rank(); }
inline bool is_tensor(const Tensor& x) { return x.defined(); }

struct SpaceOptions {
  bool endpoint = true;                 // `stop` is the last one
  std::optional<DTypeLike> dtype = {};  // None: the operands' common floating-point dtype
  int64_t axis = 0;                     // where the new axis goes, for start and stop with axes
};

// `num` (>= 0) numbers evenly from start to stop; both broadcast. Integers are rounded down.
Tensor linspace(const Tensor& start, const Tensor& stop, int64_t num = 50,
                const SpaceOptions& options = {});

struct LogspaceOptions {
  bool endpoint = true;
  double base = 10;
  std::optional<DTypeLike> dtype = {};
  int64_t axis = 0;
};

// base to the powers linspace gives.
Tensor logspace(const Tensor& start, const Tensor& stop, int64_t num = 50,
                const LogspaceOptions& options = {});
// Numbers from start to stop of a constant ratio; both are of one sign.
Tensor geomspace(const Tensor& start, const Tensor& stop, int64_t num = 50,
                 const SpaceOptions& options = {});

// Zeros: nothing here is left undefined.
Tensor empty(const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor empty_like(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor identity(int64_t n, DTypeLike dtype = DType::Float32);

struct TriOptions {
  std::optional<int64_t> m = {};  // columns; None: as many as rows
  int64_t k = 0;                  // the last diagonal of ones
  DTypeLike dtype = DType::Float32;
};

// A matrix of n rows with ones on and below diagonal k, zeros above.
Tensor tri(int64_t n, const TriOptions& options = {});

// Coordinates of a grid: of vectors with n1, n2, n3, … elements, tensors of shape (n2, n1, n3, …)
// ("xy") or (n1, n2, n3, …) ("ij").
std::vector<Tensor> meshgrid(const std::vector<Tensor>& xs, const std::string& indexing = "xy");

// Powers of a vector's elements, one column each: N - 1, …, 0, or ascending. N None: x's size.
Tensor vander(const Tensor& x, std::optional<int64_t> n = {}, bool increasing = false);

// Windows of `size` points, symmetric, float32 (Harris 1978).
Tensor bartlett(int64_t size);
Tensor blackman(int64_t size);
Tensor hamming(int64_t size);
Tensor hanning(int64_t size);
Tensor kaiser(int64_t size, double beta);

}  // namespace cornu::ops

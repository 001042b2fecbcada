// SPDX-License-Identifier: Apache-2.0
// How every op is tested: its value is compared with a plain loop, eagerly and compiled, in float64
// and float32; its gradients in float64 with finite differences, up to the second order.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "framework/core/tensor.h"
#include "tests/support/errors.h"

namespace cornu::testing {

using test::message_of;

using OpFunction = std::function<Tensor(const std::vector<Tensor>&)>;

// Float64 numbers from [low, high), the same for the same seed.
Tensor random_tensor(const Shape& shape, double low = -2, double high = 2, uint64_t seed = 1);
// The same as integers of another dtype.
Tensor random_ints(const Shape& shape, int64_t low, int64_t high, DType dtype = DType::Int32,
                   uint64_t seed = 1);

// Returns the elements of a tensor of any dtype.
std::vector<double> to_doubles(const Tensor& tensor);

// Returns all indices of a shape in row-major order.
std::vector<std::vector<int64_t>> indices_of(const Shape& shape);
// The position of an index in row-major order; axes of size 1 and missing leading axes are
// broadcast.
size_t offset_of(const Shape& shape, const std::vector<int64_t>& index);

// CHECKs that `actual` has this shape and these elements, within `tolerance` (relative above 1).
// NaN equals NaN.
void check_values(const Tensor& actual, const Shape& shape, const std::vector<double>& expected,
                  double tolerance = 1e-12);
void check_same(const Tensor& actual, const Tensor& expected, double tolerance = 0);

struct GradientCheck {
  bool second_order = true;
  double tolerance = 1e-5;
  double step = 1e-5;
};

// Compares gradients of f with respect to all its floating-point inputs (float64) with central
// differences, and gradients of gradients likewise.
void check_gradients(const OpFunction& f, const std::vector<Tensor>& inputs,
                     const GradientCheck& options = {});

// The ops whose gradients check_gradients has checked so far.
const std::set<std::string>& ops_with_checked_gradients();

// Checks that f gives equal outputs eagerly and compiled (with and without passes); returns the
// eager one.
Tensor check_compiled(const OpFunction& f, const std::vector<Tensor>& inputs,
                      double tolerance = 1e-5);

struct OpCheck {
  GradientCheck gradients = {};
  bool differentiable = true;
  double float32_tolerance = 1e-4;
};

// All of the above, for f on float64 inputs. `expected` has the elements of the result from a plain
// loop.
void check_op(const OpFunction& f, const std::vector<Tensor>& inputs, const Shape& shape,
              const std::vector<double>& expected, const OpCheck& options = {});

}  // namespace cornu::testing

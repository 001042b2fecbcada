// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms (keras.ops) of the last axis, over all leading axes. There are no
// complex dtypes: a complex tensor is a pair of real and imaginary parts. float32 and float64;
// 16-bit floats are computed in float32, integers become float32. Gradients of any order.
//
// Throws InvalidArgument when the parts differ in shape, for an axis whose size is unknown or 0,
// and for lengths below 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::ops {

using RealAndImaginary = std::pair<Tensor, Tensor>;

// X_k = sum over i of x_i exp(-2 pi j i k / n), along the last axis.
RealAndImaginary fft(const RealAndImaginary& x);
// The transform over the last two axes, and its inverse (which divides by the product of their
// sizes).
RealAndImaginary fft2(const RealAndImaginary& x);
RealAndImaginary ifft2(const RealAndImaginary& x);

// The transform of real values: (..., n) -> (..., n / 2 + 1); the remaining values are their
// conjugates. With fft_length, x is first truncated or zero-padded to that length.
RealAndImaginary rfft(const Tensor& x, std::optional<int64_t> fft_length = {});
// The inverse of rfft: (..., m) -> real values (..., fft_length), None: 2 (m - 1). x is first
// truncated or zero-padded to fft_length / 2 + 1.
Tensor irfft(const RealAndImaginary& x, std::optional<int64_t> fft_length = {});

// Splits the last axis into frames: (..., n) -> (..., frames, sequence_length), each starting
// sequence_stride after the previous one; leftover points at the end are dropped.
Tensor extract_sequences(const Tensor& x, int64_t sequence_length, int64_t sequence_stride);

struct StftOptions {
  // A window of sequence_length points, centered in a frame: "hann", "hamming", or a tensor of
  // custom values. With neither, all points have the same weight.
  std::optional<std::string> window = "hann";
  Tensor window_values = {};  // used instead of `window`
  bool center = true;  // center frame t at point t * sequence_stride; x is padded by reflection
};

// Short-time Fourier transform: (..., n) -> (..., frames, fft_length / 2 + 1), with frames of
// fft_length points. Windows are TensorFlow's: periodic if sequence_length is even, else symmetric.
RealAndImaginary stft(const Tensor& x, int64_t sequence_length, int64_t sequence_stride,
                      int64_t fft_length, const StftOptions& options = {});
// The inverse, by overlap-add (Griffin and Lim 1984); `length`: the number of points to keep.
Tensor istft(const RealAndImaginary& x, int64_t sequence_length, int64_t sequence_stride,
             int64_t fft_length, std::optional<int64_t> length = {},
             const StftOptions& options = {});

}  // namespace cornu::ops

// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms (keras.ops): of the last axis, over all leading ones. There are no
// complex dtypes: a complex tensor is its real and its imaginary part. float32 and float64; 16-bit
// floats are computed in float32, integers become float32. Gradients of any order.
//
// InvalidArgument where parts differ in shape, for an axis whose size isn't known or is 0, and for
// lengths below 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::ops {

using RealAndImaginary = std::pair<Tensor, Tensor>;

// X_k = sum over i of x_i exp(-2 pi j i k / n), of the last axis.
RealAndImaginary fft(const RealAndImaginary& x);
// The same over the last two axes, and its inverse (which divides by their product).
RealAndImaginary fft2(const RealAndImaginary& x);
RealAndImaginary ifft2(const RealAndImaginary& x);

// The transform of real values: (..., n) -> (..., n / 2 + 1), the rest of which is conjugate. With
// fft_length, x is cut or filled up with zeros to that length first.
RealAndImaginary rfft(const Tensor& x, std::optional<int64_t> fft_length = {});
// The real values of such a transform: (..., m) -> (..., fft_length), None: 2 (m - 1). x is cut or
// filled up with zeros to fft_length / 2 + 1 first.
Tensor irfft(const RealAndImaginary& x, std::optional<int64_t> fft_length = {});

// Frames of the last axis: (..., n) -> (..., frames, sequence_length), of which each begins
// sequence_stride after the one before; what is left at the end is in none.
Tensor extract_sequences(const Tensor& x, int64_t sequence_length, int64_t sequence_stride);

struct StftOptions {
  // Of sequence_length points, in the midst of a frame: "hann", "hamming", or (Tensor) one's own.
  // None of both: all points count alike.
  std::optional<std::string> window = "hann";
  Tensor window_values = {};  // in window's place
  bool center = true;         // frame t is about the point t * sequence_stride; x is reflected
};

// Short-time Fourier transform: (..., n) -> (..., frames, fft_length / 2 + 1), each frame of
// fft_length points. Windows are TensorFlow's: periodic where sequence_length is even, else
// symmetric.
RealAndImaginary stft(const Tensor& x, int64_t sequence_length, int64_t sequence_stride,
                      int64_t fft_length, const StftOptions& options = {});
// Back, by overlapping and adding (Griffin and Lim 1984); `length`: how many points are kept.
Tensor istft(const RealAndImaginary& x, int64_t sequence_length, int64_t sequence_stride,
             int64_t fft_length, std::optional<int64_t> length = {},
             const StftOptions& options = {});

}  // namespace cornu::ops

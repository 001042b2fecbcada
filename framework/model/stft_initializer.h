// SPDX-License-Identifier: Apache-2.0
// The initializer of a short-time Fourier transform.
#pragma once

#include <string>
#include <vector>

#include "framework/model/parts.h"

namespace cornu::initializers {

struct STFTOptions {
  std::string side = "real";  // of the transform's complex numbers; or "imag"
  // Of scipy.signal: "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar",
  // "cosine", "exponential", "flattop", "hamming", "hann", "lanczos", "nuttall", "parzen",
  // "taylor", "triang", "tukey", with SciPy's parameters; empty: none.
  std::string window = "hann";
  std::string scaling = "density";  // by the window's length; "spectrum": by its sum; empty: none
  bool periodic = false;            // the window, as spectra want it; else symmetric
  std::vector<double> window_values = {};  // instead of a named window, one for each sample
};

// The kernel of a convolution that makes the short-time Fourier transform of its input: of shape
// (samples of a frame, 1, frequencies), frequencies being those from 0 to half the sampling rate,
// at least two. InvalidArgument for other shapes, and for dtypes that aren't floating.
class STFT : public InitializerImpl {
 public:
  // InvalidArgument for unknown names.
  explicit STFT(const STFTOptions& options = {});
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "STFT"; }
  Json get_config() const override;

 private:
  std::vector<double> window(int64_t size) const;

  STFTOptions options_;
};

}  // namespace cornu::initializers

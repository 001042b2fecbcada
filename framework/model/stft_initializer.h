// SPDX-License-Identifier: Apache-2.0
// The initializer of a short-time Fourier transform.
#pragma once

#include <string>
#include <vector>

#include "framework/model/parts.h"

namespace cornu::initializers {

struct STFTOptions {
  std::string side = "real";  // part of the complex transform; or "imag"
  // A window of scipy.signal: "barthann", "bartlett", "blackman", "blackmanharris", "bohman",
  // "boxcar", "cosine", "exponential", "flattop", "hamming", "hann", "lanczos", "nuttall",
  // "parzen", "taylor", "triang", "tukey", with SciPy's default parameters; empty: none.
  std::string window = "hann";
  std::string scaling = "density";  // divide by the window's norm; "spectrum": its sum; empty: no
  bool periodic = false;            // a periodic window, suited to spectra; else symmetric
  std::vector<double> window_values = {};  // replaces the named window, one value per sample
};

// The kernel of a convolution that computes the short-time Fourier transform of its input, of shape
// (frame length in samples, 1, frequencies). The frequencies, at least two, range from 0 to half
// the sampling rate. Throws InvalidArgument for other shapes and for non-floating dtypes.
class STFT : public InitializerImpl {
 public:
  // Throws InvalidArgument for unknown names.
  explicit STFT(const STFTOptions& options = {});
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "STFT"; }
  Json get_config() const override;

 private:
  std::vector<double> window(int64_t size) const;

  STFTOptions options_;
};

}  // namespace cornu::initializers

// SPDX-License-Identifier: Apache-2.0
// fft and rfft, by Eigen's copy of kissfft: rows of the last axis are divided among threads.
#include <unsupported/Eigen/FFT>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

// The plans of one length, one for each part of the rows: a plan has working memory of its own.
template <class T>
class Plans {
 public:
  // `real`: transforms of real rows. `inverse`: exponents of the other sign, not divided.
  Plans(int64_t rows, int64_t length, bool real, bool inverse)
      : rows_(rows), length_(length), inverse_(inverse) {
    const int64_t work = 2 * length + 64;
    const int64_t most = std::max<int64_t>(1, rows * work / 16'384);
    plans_.resize(static_cast<size_t>(std::min<int64_t>({rows, most, compute_threads()})));
    // Plans are made where they are used first, which is here: a run allocates nothing.
    std::vector<std::complex<T>> from(static_cast<size_t>(length)), to(from.size());
    for (Plan& plan : plans_) {
      plan.SetFlag(Plan::Unscaled);
      plan.SetFlag(Plan::HalfSpectrum);
      if (real) {
        plan.fwd(to.data(), reinterpret_cast<const T*>(from.data()), length);
      } else {
        transform(plan, from.data(), to.data());
      }
    }
  }

  // Of interleaved numbers for two rows, for each part.
  size_t scratch_bytes() const {
    return plans_.size() * 2 * static_cast<size_t>(length_) * sizeof(std::complex<T>);
  }

  // Calls visit(plan, row, from, to) for each row; from and to: a row of complex numbers.
  template <class Visit>
  void each(void* scratch, Visit visit) {
    const auto parts = static_cast<int>(plans_.size());
    parallel_parts(parts, [&](int part) {
      auto* from = static_cast<std::complex<T>*>(scratch) + 2 * length_ * part;
      for (int64_t row = rows_ * part / parts; row < rows_ * (part + 1) / parts; ++row) {
        visit(plans_[static_cast<size_t>(part)], row, from, from + length_);
      }
    });
  }

  using Plan = Eigen::FFT<T>;
  void transform(Plan& plan, const std::complex<T>* from, std::complex<T>* to) const {
    if (inverse_) {
      plan.inv(to, from, length_);
    } else {
      plan.fwd(to, from, length_);
    }
  }

 private:
  int64_t rows_;
  int64_t length_;
  bool inverse_;
  std::vector<Plan> plans_;
};

template <class T>
class FftKernel : public Kernel {
 public:
  FftKernel(int64_t rows, int64_t length, bool inverse)
      : plans_(rows, length, false, inverse), length_(length) {}
  size_t scratch_bytes() const override { return plans_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    const auto* real = static_cast<const T*>(args.in[0]);
    const auto* imaginary = static_cast<const T*>(args.in[1]);
    auto* out_real = static_cast<T*>(args.out[0]);
    auto* out_imaginary = static_cast<T*>(args.out[1]);
    plans_.each(args.scratch, [&](auto& plan, int64_t row, auto* from, auto* to) {
      const int64_t offset = row * length_;
      for (int64_t i = 0; i < length_; ++i) from[i] = {real[offset + i], imaginary[offset + i]};
      plans_.transform(plan, from, to);
      for (int64_t i = 0; i < length_; ++i) {
        out_real[offset + i] = to[i].real();
        out_imaginary[offset + i] = to[i].imag();
      }
    });
  }

 private:
  Plans<T> plans_;
  int64_t length_;
};

template <class T>
class RfftKernel : public Kernel {
 public:
  RfftKernel(int64_t rows, int64_t length)
      : plans_(rows, length, true, false), length_(length), bins_(length / 2 + 1) {}
  size_t scratch_bytes() const override { return plans_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    const auto* in = static_cast<const T*>(args.in[0]);
    auto* out_real = static_cast<T*>(args.out[0]);
    auto* out_imaginary = static_cast<T*>(args.out[1]);
    plans_.each(args.scratch, [&](auto& plan, int64_t row, auto*, auto* to) {
      plan.fwd(to, in + row * length_, length_);
      for (int64_t i = 0; i < bins_; ++i) {
        out_real[row * bins_ + i] = to[i].real();
        out_imaginary[row * bins_ + i] = to[i].imag();
      }
    });
  }

 private:
  Plans<T> plans_;
  int64_t length_;
  int64_t bins_;
};

// One point is its own transform, which kissfft doesn't know; its imaginary part: the input's, or
// 0.
std::unique_ptr<Kernel> make_of_points(const KernelSpec& spec) {
  const size_t bytes =
      static_cast<size_t>(spec.inputs[0].shape.num_elements()) * size_of(spec.inputs[0].dtype);
  const bool complex = spec.inputs.size() == 2;
  return make_kernel([=](const KernelArgs& args) {
    std::memcpy(args.out[0], args.in[0], bytes);
    if (complex) {
      std::memcpy(args.out[1], args.in[1], bytes);
    } else {
      std::memset(args.out[1], 0, bytes);
    }
  });
}

template <class Make>
std::unique_ptr<Kernel> by_dtype(const KernelSpec& spec, const KernelFactory& self, Make make) {
  const Shape& shape = spec.inputs[0].shape;
  if (shape.num_elements() == 0) return make_kernel([](const KernelArgs&) {});
  if (shape.back() == 1) return make_of_points(spec);
  switch (spec.inputs[0].dtype) {
    case DType::Float32:
      return make(float{});
    case DType::Float64:
      return make(double{});
    default:
      return through_float32(spec, self);
  }
}

std::unique_ptr<Kernel> make_fft(const KernelSpec& spec) {
  const int64_t length = spec.inputs[0].shape.back();
  const bool inverse = spec.attributes.get_bool("inverse");
  return by_dtype(spec, make_fft, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    const int64_t rows = spec.inputs[0].shape.num_elements() / length;
    return std::make_unique<FftKernel<T>>(rows, length, inverse);
  });
}

std::unique_ptr<Kernel> make_rfft(const KernelSpec& spec) {
  const int64_t length = spec.inputs[0].shape.back();
  return by_dtype(spec, make_rfft, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    const int64_t rows = spec.inputs[0].shape.num_elements() / length;
    return std::make_unique<RfftKernel<T>>(rows, length);
  });
}

}  // namespace

void register_fft_kernels(KernelTable& table) {
  table.add("fft", make_fft);
  table.add("rfft", make_rfft);
}

}  // namespace cornu::cpu

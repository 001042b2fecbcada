// SPDX-License-Identifier: Apache-2.0
// fft, by stages of all radices, and rfft, by Eigen's copy of kissfft: rows of the last axis are
// divided among threads.
#include <unsupported/Eigen/FFT>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/fft/stages.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

// The plans of real rows of one length, one for each part of the rows: a plan has working memory of
// its own.
template <class T>
class Plans {
 public:
  using Plan = Eigen::FFT<T>;

  Plans(int64_t rows, int64_t length) : rows_(rows), length_(length) {
    const int64_t work = 2 * length + 64;
    const int64_t most = std::max<int64_t>(1, rows * work / 16'384);
    plans_.resize(static_cast<size_t>(std::min<int64_t>({rows, most, compute_threads()})));
    // Plans are made where they are used first, which is here: a run allocates nothing.
    const std::vector<T> from(static_cast<size_t>(length));
    std::vector<std::complex<T>> to(from.size());
    for (Plan& plan : plans_) {
      plan.SetFlag(Plan::Unscaled);
      plan.SetFlag(Plan::HalfSpectrum);
      plan.fwd(to.data(), from.data(), length);
    }
  }

  // Of a row of complex numbers, for each part.
  size_t scratch_bytes() const {
    return plans_.size() * static_cast<size_t>(length_) * sizeof(std::complex<T>);
  }

  // Calls visit(plan, row, to) for each row; to: a row of complex numbers.
  template <class Visit>
  void each(void* scratch, Visit visit) {
    const auto parts = static_cast<int>(plans_.size());
    parallel_parts(parts, [&](int part) {
      auto* to = static_cast<std::complex<T>*>(scratch) + length_ * part;
      for (int64_t row = rows_ * part / parts; row < rows_ * (part + 1) / parts; ++row) {
        visit(plans_[static_cast<size_t>(part)], row, to);
      }
    });
  }

 private:
  int64_t rows_;
  int64_t length_;
  std::vector<Plan> plans_;
};

// The stages of transforms of one length, whose radices are small prime factors, and 4.
template <class T>
std::vector<FftStage<T>> stages_of(int64_t length) {
  std::vector<FftStage<T>> stages;
  for (int64_t left = length, radix = 4; left > 1;) {
    while (left % radix != 0) radix = radix == 4 ? 2 : radix == 2 ? 3 : radix + 2;
    FftStage<T> stage;
    stage.radix = radix;
    stage.rest = left / radix;
    stage.stride = length / left;
    const auto add_root = [](int64_t power, int64_t of, std::vector<T>& real,
                             std::vector<T>& imaginary) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(power) / static_cast<double>(of);
      real.push_back(static_cast<T>(std::cos(angle)));
      imaginary.push_back(static_cast<T>(std::sin(angle)));
    };
    for (int64_t i = 0; i < stage.rest; ++i) {
      for (int64_t k = 0; k < radix; ++k) add_root(i * k, left, stage.real, stage.imaginary);
    }
    for (int64_t k = 0; k < radix; ++k) {
      add_root(k, radix, stage.root_real, stage.root_imaginary);
    }
    left = stage.rest;
    stages.push_back(std::move(stage));
  }
  return stages;
}

// Transforms several rows at once, whose elements alternate, so that they fill vectors.
template <class T>
class FftKernel : public Kernel {
 public:
  FftKernel(int64_t rows, int64_t length, bool inverse)
      : stages_(stages_of<T>(length)),
        rows_(rows),
        length_(length),
        lanes_(std::min(rows, std::clamp<int64_t>(kLaneElements / length, 1, kMostLanes))),
        inverse_(inverse) {
    const int64_t groups = (rows + lanes_ - 1) / lanes_;
    const int64_t most = std::max<int64_t>(1, rows * length / 16'384);
    parts_ = static_cast<int>(std::min<int64_t>({groups, most, compute_threads()}));
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(4 * parts_ * length_ * lanes_) * sizeof(T);
  }

  void run(const KernelArgs& args) override {
    // The inverse is the transform of numbers whose parts are exchanged.
    const int real = inverse_ ? 1 : 0;
    const ComplexRows<const T> in{static_cast<const T*>(args.in[real]),
                                  static_cast<const T*>(args.in[1 - real])};
    const ComplexRows<T> out{static_cast<T*>(args.out[real]), static_cast<T*>(args.out[1 - real])};
    const int64_t groups = (rows_ + lanes_ - 1) / lanes_;
    parallel_parts(parts_, [&](int part) {
      T* const memory = static_cast<T*>(args.scratch) + 4 * part * length_ * lanes_;
      for (int64_t group = groups * part / parts_; group < groups * (part + 1) / parts_; ++group) {
        const int64_t first = group * lanes_;
        transform(in, out, first, std::min(lanes_, rows_ - first), memory);
      }
    });
  }

 private:
  static constexpr int64_t kMostLanes = 16;
  static constexpr int64_t kLaneElements = 16'384;  // so that what a group needs stays in a cache

  // Calls visit(lane, begin, end) for parts of all rows, so that those of one part stay in a cache.
  template <class Visit>
  void each_block(int64_t lanes, Visit visit) const {
    constexpr int64_t kBlock = 32;
    for (int64_t begin = 0; begin < length_; begin += kBlock) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        visit(lane, begin, std::min(begin + kBlock, length_));
      }
    }
  }

  void transform(const ComplexRows<const T>& in, const ComplexRows<T>& out, int64_t first,
                 int64_t lanes, T* memory) const {
    const int64_t size = length_ * lanes;
    ComplexRows<T> from{memory, memory + size}, to{memory + 2 * size, memory + 3 * size};
    each_block(lanes, [&](int64_t lane, int64_t begin, int64_t end) {
      const int64_t row = (first + lane) * length_;
      for (int64_t i = begin; i < end; ++i) {
        from.real[i * lanes + lane] = in.real[row + i];
        from.imaginary[i * lanes + lane] = in.imaginary[row + i];
      }
    });
    for (const FftStage<T>& stage : stages_) {
      run_stage(stage, lanes, {from.real, from.imaginary}, to);
      std::swap(from, to);
    }
    each_block(lanes, [&](int64_t lane, int64_t begin, int64_t end) {
      const int64_t row = (first + lane) * length_;
      for (int64_t i = begin; i < end; ++i) {
        out.real[row + i] = from.real[i * lanes + lane];
        out.imaginary[row + i] = from.imaginary[i * lanes + lane];
      }
    });
  }

  std::vector<FftStage<T>> stages_;
  int64_t rows_, length_, lanes_;
  bool inverse_;
  int parts_ = 1;
};

template <class T>
class RfftKernel : public Kernel {
 public:
  RfftKernel(int64_t rows, int64_t length)
      : plans_(rows, length), length_(length), bins_(length / 2 + 1) {}
  size_t scratch_bytes() const override { return plans_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    const auto* in = static_cast<const T*>(args.in[0]);
    auto* out_real = static_cast<T*>(args.out[0]);
    auto* out_imaginary = static_cast<T*>(args.out[1]);
    plans_.each(args.scratch, [&](auto& plan, int64_t row, auto* to) {
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

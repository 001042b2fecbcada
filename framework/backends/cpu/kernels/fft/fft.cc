// SPDX-License-Identifier: Apache-2.0
// fft and rfft: groups of rows of the last axis are divided among threads.
#include <algorithm>
#include <memory>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/fft/transform.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

// Groups of rows that `fft` transforms together; `memory`: the numbers that a group needs.
template <class T>
struct RowGroups {
  RowGroups(int64_t row_count, int64_t length, int64_t group_size, int64_t numbers)
      : rows(row_count), group(std::min(row_count, group_size)), memory(numbers) {
    const int64_t groups = (rows + group - 1) / group;
    const int64_t most = std::max<int64_t>(1, rows * length / 16'384);
    parts = static_cast<int>(std::min<int64_t>({groups, most, compute_threads()}));
  }
  size_t scratch_bytes() const { return static_cast<size_t>(parts * memory) * sizeof(T); }

  // Calls visit(first row, rows, memory) for each group.
  template <class Visit>
  void each(void* scratch, Visit visit) const {
    const int64_t groups = (rows + group - 1) / group;
    parallel_parts(parts, [&](int part) {
      T* const numbers = static_cast<T*>(scratch) + part * memory;
      for (int64_t i = groups * part / parts; i < groups * (part + 1) / parts; ++i) {
        visit(i * group, std::min(group, rows - i * group), numbers);
      }
    });
  }

  int64_t rows, group, memory;
  int parts = 1;
};

template <class T>
class FftKernel : public Kernel {
 public:
  FftKernel(int64_t rows, int64_t length, bool inverse)
      : fft_(make_row_fft<T>(length)),
        groups_(rows, length, fft_->group(), fft_->memory()),
        length_(length),
        inverse_(inverse) {}
  size_t scratch_bytes() const override { return groups_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    // The inverse is the transform of numbers with real and imaginary parts swapped.
    const int real = inverse_ ? 1 : 0;
    const ComplexRows<const T> in{static_cast<const T*>(args.in[real]),
                                  static_cast<const T*>(args.in[1 - real])};
    const ComplexRows<T> out{static_cast<T*>(args.out[real]), static_cast<T*>(args.out[1 - real])};
    groups_.each(args.scratch, [&](int64_t first, int64_t rows, T* memory) {
      const int64_t place = first * length_;
      fft_->transform({in.real + place, in.imaginary + place},
                      {out.real + place, out.imaginary + place}, rows, memory);
    });
  }

 private:
  std::unique_ptr<RowFft<T>> fft_;
  RowGroups<T> groups_;
  int64_t length_;
  bool inverse_;
};

// For an even length, pairs of real numbers are complex numbers, whose transform holds those of the
// even and of the odd numbers. For an odd length, a transform of numbers with imaginary parts of 0.
template <class T>
class RfftKernel : public Kernel {
 public:
  RfftKernel(int64_t rows, int64_t length)
      : length_(length),
        points_(length % 2 == 0 ? length / 2 : length),
        fft_(make_row_fft<T>(points_)),
        own_memory_(4 * points_ * std::min(rows, fft_->group())),
        groups_(rows, length, fft_->group(), own_memory_ + fft_->memory()) {
    const UnitRoots roots(length);
    for (int64_t i = 0; i < points_; ++i) {
      const std::complex<double> root = roots(i);
      root_real_.push_back(static_cast<T>(root.real()));
      root_imaginary_.push_back(static_cast<T>(root.imag()));
    }
  }
  size_t scratch_bytes() const override { return groups_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    const auto* const in = static_cast<const T*>(args.in[0]);
    const ComplexRows<T> out{static_cast<T*>(args.out[0]), static_cast<T*>(args.out[1])};
    const int64_t bins = length_ / 2 + 1;
    groups_.each(args.scratch, [&](int64_t first, int64_t rows, T* memory) {
      const int64_t size = own_memory_ / 4;
      const ComplexRows<T> from{memory, memory + size};
      const ComplexRows<T> found{memory + 2 * size, memory + 3 * size};
      read_points(in + first * length_, rows, from);
      fft_->transform({from.real, from.imaginary}, found, rows, memory + own_memory_);
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t place = (first + row) * bins;
        write_bins({found.real + row * points_, found.imaginary + row * points_},
                   {out.real + place, out.imaginary + place});
      }
    });
  }

 private:
  void read_points(const T* in, int64_t rows, const ComplexRows<T>& to) const {
    if (length_ % 2 == 0) {
      fft_functions<T>().pairs_of(in, rows * points_, to);
    } else {
      std::copy_n(in, rows * points_, to.real);
      std::fill_n(to.imaginary, rows * points_, T{0});
    }
  }

  void write_bins(const ComplexRows<const T>& from, const ComplexRows<T>& to) const {
    if (length_ % 2 == 0) {
      fft_functions<T>().bins_of_pairs(from, points_, {root_real_.data(), root_imaginary_.data()},
                                       to);
    } else {
      std::copy_n(from.real, length_ / 2 + 1, to.real);
      std::copy_n(from.imaginary, length_ / 2 + 1, to.imaginary);
    }
  }

  int64_t length_, points_;
  std::unique_ptr<RowFft<T>> fft_;
  int64_t own_memory_;
  RowGroups<T> groups_;
  std::vector<T> root_real_, root_imaginary_;
};

template <class Make>
std::unique_ptr<Kernel> by_dtype(const KernelSpec& spec, const KernelFactory& self, Make make) {
  const Shape& shape = spec.inputs[0].shape;
  if (shape.num_elements() == 0) return make_kernel([](const KernelArgs&) {});
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

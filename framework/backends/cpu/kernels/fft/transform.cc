// SPDX-License-Identifier: Apache-2.0
// Transforms by stages of small radices; of long rows, by the columns and rows of a matrix; of
// lengths with a large prime factor, by a convolution.
#include "framework/backends/cpu/kernels/fft/transform.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kLanes = 16;             // rows that are transformed at once
constexpr int64_t kLaneElements = 16'384;  // so that what a group needs stays in a cache
constexpr int64_t kMatrixRow = 4096;       // elements of rows that are seen as matrices
constexpr int64_t kMaxRadix = 31;          // a larger one takes longer than a convolution

// The stages of transforms of one length, whose radices are prime factors, and 4.
template <class T>
std::vector<FftStage<T>> stages_of(int64_t length) {
  const UnitRoots roots(length);
  std::vector<FftStage<T>> stages;
  for (int64_t left = length, radix = 4; left > 1;) {
    while (left % radix != 0) radix = radix == 4 ? 2 : radix == 2 ? 3 : radix + 2;
    FftStage<T> stage;
    stage.radix = radix;
    stage.rest = left / radix;
    stage.stride = length / left;
    const auto add_root = [&](int64_t power, int64_t of, std::vector<T>& real,
                              std::vector<T>& imaginary) {
      const std::complex<double> root = roots(power * (length / of));
      real.push_back(static_cast<T>(root.real()));
      imaginary.push_back(static_cast<T>(root.imag()));
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

int64_t largest_prime_factor(int64_t length) {
  int64_t largest = 1;
  for (int64_t factor = 2; factor * factor <= length; ++factor) {
    for (; length % factor == 0; length /= factor) largest = factor;
  }
  return std::max(largest, length);
}

// Runs all stages on `lanes` interleaved rows in `from`; returns where the result is, in `from` or
// `to`.
template <class T>
ComplexRows<T> run_stages(const std::vector<FftStage<T>>& stages, int64_t lanes,
                          ComplexRows<T> from, ComplexRows<T> to) {
  for (const FftStage<T>& stage : stages) {
    fft_functions<T>().run_stage(stage, lanes, {from.real, from.imaginary}, to);
    std::swap(from, to);
  }
  return from;
}

// The calling thread's memory for two groups of `size` complex numbers.
template <class T>
std::pair<ComplexRows<T>, ComplexRows<T>> two_groups(int64_t size) {
  T* const memory = reinterpret_cast<T*>(thread_memory(4 * static_cast<size_t>(size) * sizeof(T)));
  return {{memory, memory + size}, {memory + 2 * size, memory + 3 * size}};
}

// Rows that fit into a cache: several at once, interleaved, so that they fill vectors.
template <class T>
class ShortFft : public RowFft<T> {
 public:
  explicit ShortFft(int64_t length) : stages_(stages_of<T>(length)), length_(length) {}
  int64_t group() const override { return std::clamp<int64_t>(kLaneElements / length_, 1, kLanes); }
  int64_t memory() const override { return 0; }

  void transform(const ComplexRows<const T>& in, const ComplexRows<T>& out, int64_t rows,
                 T*) const override {
    const auto [from, to] = two_groups<T>(length_ * rows);
    const auto transpose = fft_functions<T>().transpose;
    transpose(in.real, length_, from.real, rows, rows, length_);
    transpose(in.imaginary, length_, from.imaginary, rows, rows, length_);
    const ComplexRows<T> found = run_stages(stages_, rows, from, to);
    transpose(found.real, rows, out.real, length_, length_, rows);
    transpose(found.imaginary, rows, out.imaginary, length_, length_, rows);
  }

 private:
  std::vector<FftStage<T>> stages_;
  int64_t length_;
};

// A length of rows x columns: transforms the columns of that matrix, multiplies element (i, j) by
// root i * j, and transforms the rows, whose element (i, j) is element j * rows + i of the result.
// Both take kLanes of them at once, which fit into a cache.
template <class T>
class LongFft : public RowFft<T> {
 public:
  explicit LongFft(int64_t length)
      : length_(length), rows_(static_cast<int64_t>(std::sqrt(length))) {
    while (length % rows_ != 0) --rows_;
    columns_ = length / rows_;
    tiles_ = (columns_ + kLanes - 1) / kLanes;
    by_column_ = stages_of<T>(rows_);
    by_row_ = stages_of<T>(columns_);
    const UnitRoots roots(length);
    const auto add = [&](int64_t row, int64_t column, std::vector<T>& real,
                         std::vector<T>& imaginary) {
      const std::complex<double> root = roots(row * column % length);
      real.push_back(static_cast<T>(root.real()));
      imaginary.push_back(static_cast<T>(root.imag()));
    };
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t lane = 0; lane < kLanes; ++lane) add(row, lane, lane_real_, lane_imaginary_);
    }
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      for (int64_t row = 0; row < rows_; ++row)
        add(row, tile * kLanes, tile_real_, tile_imaginary_);
    }
  }
  int64_t group() const override { return 1; }
  int64_t memory() const override { return 2 * tiles_ * rows_ * kLanes; }

  void transform(const ComplexRows<const T>& in, const ComplexRows<T>& out, int64_t rows,
                 T* memory) const override {
    const ComplexRows<T> tiles{memory, memory + tiles_ * rows_ * kLanes};
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = row * length_;
      parallel_for(tiles_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile) {
          transform_columns({in.real + first, in.imaginary + first}, tile, tiles);
        }
      });
      parallel_for((rows_ + kLanes - 1) / kLanes, 1, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile) {
          transform_rows(tiles, tile * kLanes, {out.real + first, out.imaginary + first});
        }
      });
    }
  }

 private:
  // Transforms the columns of a tile, which is a matrix of kLanes columns afterwards.
  void transform_columns(const ComplexRows<const T>& in, int64_t tile,
                         const ComplexRows<T>& tiles) const {
    const int64_t first = tile * kLanes;
    const int64_t lanes = std::min(kLanes, columns_ - first);
    const auto [from, to] = two_groups<T>(rows_ * lanes);
    for (int64_t row = 0; row < rows_; ++row) {
      std::copy_n(in.real + row * columns_ + first, lanes, from.real + row * lanes);
      std::copy_n(in.imaginary + row * columns_ + first, lanes, from.imaginary + row * lanes);
    }
    const ComplexRows<T> found = run_stages(by_column_, lanes, from, to);
    const int64_t place = tile * rows_;
    fft_functions<T>().multiply_tile(
        {found.real, found.imaginary}, rows_, lanes, {lane_real_.data(), lane_imaginary_.data()},
        {tile_real_.data() + place, tile_imaginary_.data() + place}, kLanes,
        {tiles.real + place * kLanes, tiles.imaginary + place * kLanes});
  }

  void transform_rows(const ComplexRows<T>& tiles, int64_t first, const ComplexRows<T>& out) const {
    const int64_t lanes = std::min(kLanes, rows_ - first);
    const auto [from, to] = two_groups<T>(columns_ * lanes);
    const auto transpose = fft_functions<T>().transpose;
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const int64_t place = (tile * rows_ + first) * kLanes;
      const int64_t column = tile * kLanes;
      const int64_t width = std::min(kLanes, columns_ - column);
      transpose(tiles.real + place, kLanes, from.real + column * lanes, lanes, lanes, width);
      transpose(tiles.imaginary + place, kLanes, from.imaginary + column * lanes, lanes, lanes,
                width);
    }
    const ComplexRows<T> found = run_stages(by_row_, lanes, from, to);
    for (int64_t column = 0; column < columns_; ++column) {
      std::copy_n(found.real + column * lanes, lanes, out.real + column * rows_ + first);
      std::copy_n(found.imaginary + column * lanes, lanes, out.imaginary + column * rows_ + first);
    }
  }

  int64_t length_, rows_, columns_ = 1, tiles_ = 1;
  std::vector<FftStage<T>> by_column_, by_row_;
  // Root row * column is the product of that of the row and the lane, and of the row and the tile.
  std::vector<T> lane_real_, lane_imaginary_, tile_real_, tile_imaginary_;
};

// Bluestein's algorithm: with the chirp c[i] = exp(-pi i^2 / length), the transform is c times the
// convolution of in * c with the conjugate of c, which transforms of a smooth length compute.
template <class T>
class ChirpFft : public RowFft<T> {
 public:
  explicit ChirpFft(int64_t length) : length_(length), padded_(2 * length - 1) {
    while (largest_prime_factor(padded_) > 5 || padded_ % kLanes != 0) ++padded_;
    inner_ = make_row_fft<T>(padded_);
    const UnitRoots roots(2 * length);
    const auto size = static_cast<size_t>(padded_);
    std::vector<double> real(size), imaginary(size), real_found(size), imaginary_found(size);
    for (int64_t i = 0, square = 0; i < length; square = (square + 2 * i + 1) % (2 * length), ++i) {
      const std::complex<double> root = roots(square);
      chirp_real_.push_back(static_cast<T>(root.real()));
      chirp_imaginary_.push_back(static_cast<T>(root.imag()));
      for (const int64_t place : {i, (padded_ - i) % padded_}) {
        real[static_cast<size_t>(place)] = root.real() / static_cast<double>(padded_);
        imaginary[static_cast<size_t>(place)] = -root.imag() / static_cast<double>(padded_);
      }
    }
    const auto in_double = make_row_fft<double>(padded_);
    std::vector<double> memory(static_cast<size_t>(in_double->memory()));
    in_double->transform({real.data(), imaginary.data()},
                         {real_found.data(), imaginary_found.data()}, 1, memory.data());
    filter_real_.assign(real_found.begin(), real_found.end());
    filter_imaginary_.assign(imaginary_found.begin(), imaginary_found.end());
  }
  int64_t group() const override { return inner_->group(); }
  int64_t memory() const override { return 4 * padded_ * group() + inner_->memory(); }

  void transform(const ComplexRows<const T>& in, const ComplexRows<T>& out, int64_t rows,
                 T* memory) const override {
    const int64_t size = padded_ * group();
    const ComplexRows<T> padded{memory, memory + size};
    const ComplexRows<T> found{memory + 2 * size, memory + 3 * size};
    T* const rest = memory + 4 * size;
    const auto multiply = fft_functions<T>().multiply;
    const ComplexRows<const T> chirp{chirp_real_.data(), chirp_imaginary_.data()};
    const ComplexRows<const T> filter{filter_real_.data(), filter_imaginary_.data()};
    for (int64_t row = 0; row < rows; ++row) {
      const ComplexRows<T> to = at(padded, row * padded_);
      multiply({in.real + row * length_, in.imaginary + row * length_}, chirp, length_, to);
      std::fill_n(to.real + length_, padded_ - length_, T{0});
      std::fill_n(to.imaginary + length_, padded_ - length_, T{0});
    }
    inner_->transform({padded.real, padded.imaginary}, found, rows, rest);
    for (int64_t row = 0; row < rows; ++row) {
      const ComplexRows<T> from = at(found, row * padded_);
      multiply({from.real, from.imaginary}, filter, padded_, at(padded, row * padded_));
    }
    // The inverse is the transform of numbers with real and imaginary parts swapped.
    inner_->transform({padded.imaginary, padded.real}, {found.imaginary, found.real}, rows, rest);
    for (int64_t row = 0; row < rows; ++row) {
      const ComplexRows<T> from = at(found, row * padded_);
      multiply({from.real, from.imaginary}, chirp, length_, at(out, row * length_));
    }
  }

 private:
  static ComplexRows<T> at(const ComplexRows<T>& rows, int64_t place) {
    return {rows.real + place, rows.imaginary + place};
  }

  int64_t length_, padded_;
  std::unique_ptr<RowFft<T>> inner_;
  std::vector<T> chirp_real_, chirp_imaginary_, filter_real_, filter_imaginary_;
};

constexpr int64_t kFineRoots = 1024;

}  // namespace

UnitRoots::UnitRoots(int64_t length) {
  const auto root = [&](int64_t power) {
    const long double angle = -2 * std::numbers::pi_v<long double> *
                              static_cast<long double>(power) / static_cast<long double>(length);
    return std::complex<long double>(std::cos(angle), std::sin(angle));
  };
  for (int64_t i = 0; i < std::min(length, kFineRoots); ++i) fine_.push_back(root(i));
  for (int64_t i = 0; i < length; i += kFineRoots) coarse_.push_back(root(i));
}

std::complex<double> UnitRoots::operator()(int64_t power) const {
  const auto& coarse = coarse_[static_cast<size_t>(power / kFineRoots)];
  const auto& fine = fine_[static_cast<size_t>(power % kFineRoots)];
  return {static_cast<double>(coarse.real() * fine.real() - coarse.imag() * fine.imag()),
          static_cast<double>(coarse.real() * fine.imag() + coarse.imag() * fine.real())};
}

template <class T>
std::unique_ptr<RowFft<T>> make_row_fft(int64_t length) {
  if (largest_prime_factor(length) > kMaxRadix) return std::make_unique<ChirpFft<T>>(length);
  if (length > kMatrixRow) return std::make_unique<LongFft<T>>(length);
  return std::make_unique<ShortFft<T>>(length);
}

template std::unique_ptr<RowFft<float>> make_row_fft(int64_t length);
template std::unique_ptr<RowFft<double>> make_row_fft(int64_t length);

}  // namespace cornu::cpu

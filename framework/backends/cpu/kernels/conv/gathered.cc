// SPDX-License-Identifier: Apache-2.0
// Convolutions of a few input channels by im2col in chunks: the inputs of some output positions are
// gathered as rows of a matrix that stays in the cache, and multiplied by the filter or by the
// output's gradient. oneDNN's kernels keep most lanes of a vector idle there: they are slow for
// long filters over one axis (waveforms: 80 taps, 8000 positions, 16 images: 6.3 ms instead
// of 2.0), and for input gradients (transposed convolutions that make images).
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kFewestPositions = 64;  // of an image
constexpr int64_t kChunkBytes = 1 << 17;  // of the gathered matrix
constexpr int64_t kMaxFilter = 1 << 16;   // elements: parts keep partial sums of gradients
constexpr int64_t kMaxLines = 1 << 20;    // of taps, of all output positions of an image
constexpr int64_t kSums = 16;             // of a filter gradient, whatever the number of threads

using Array = Eigen::Array<float, Eigen::Dynamic, 1>;

size_t aligned(int64_t bytes) { return round_up(static_cast<size_t>(bytes), 64); }

class GatheredConv : public Kernel {
 public:
  explicit GatheredConv(const ConvProblem& problem)
      : problem_(problem),
        channels_(problem.c_in),
        line_(problem.taps.back() * problem.c_in),
        row_(product_of(problem.taps) * problem.c_in),
        positions_(product_of(problem.out)),
        filter_(problem.filter_size()) {
    ConvProblem lines = problem;
    for (auto* sizes : {&lines.in, &lines.taps, &lines.out, &lines.strides, &lines.dilation,
                        &lines.low, &lines.high}) {
      sizes->pop_back();
    }
    tap_lines_ = product_of(lines.taps);
    read_lines_ = lines.input_positions();
    const int64_t most = std::max<int64_t>(16, kChunkBytes / (row_ * element()));
    chunks_ = (positions_ + most - 1) / most;
    rows_ = (positions_ + chunks_ - 1) / chunks_;
    const bool sums = direction() == ConvDirection::FilterGrad;
    const int64_t parts = std::min(units(), sums ? kSums : int64_t{compute_threads()});
    const ComputeThreadsScope alone(1);
    for (int64_t i = 0; i < parts; ++i) {
      products_.push_back({make_product(rows_), make_product(positions_ - (chunks_ - 1) * rows_)});
    }
    const int64_t results = sums ? 2 * filter_ : 0;
    gathered_bytes_ = aligned(rows_ * row_ * element());
    product_offset_ = gathered_bytes_ + aligned(results * element());
    if (!complete()) return;
    const auto& [whole, last] = products_[0];
    part_bytes_ =
        round_up(product_offset_ + std::max(whole->scratch_bytes(), last->scratch_bytes()), 64);
  }

  bool complete() const {
    return std::ranges::all_of(products_, [](const auto& both) { return both[0] && both[1]; });
  }

  size_t scratch_bytes() const override { return part_bytes_ * products_.size(); }

  void run(const KernelArgs& args) override {
    parallel_parts(static_cast<int>(parts()), [&](int part) { run_part(args, part); });
    if (direction() == ConvDirection::FilterGrad) add_sums(args);
  }

 private:
  ConvDirection direction() const { return problem_.direction; }
  int64_t element() const { return static_cast<int64_t>(sizeof(float)); }

  // Units of work, which are divided among parts: whole images for input gradients, since chunks of
  // an image add to the same elements.
  int64_t units() const {
    return direction() == ConvDirection::InputGrad ? problem_.batch : problem_.batch * chunks_;
  }
  int64_t parts() const { return std::ssize(products_); }

  std::unique_ptr<Kernel> make_product(int64_t rows) const {
    MatmulProblem product;
    product.m = rows;
    product.k = row_;
    product.n = problem_.c_out;
    product.bias = problem_.bias;
    product.activation = problem_.activation;
    if (direction() == ConvDirection::InputGrad) {
      std::swap(product.k, product.n);
      product.transpose_b = true;
    } else if (direction() == ConvDirection::FilterGrad) {
      std::swap(product.m, product.k);
      product.transpose_a = true;
    }
    return make_onednn_matmul(product);
  }

  void run_part(const KernelArgs& args, int index) {
    const auto part = static_cast<size_t>(index);
    auto* scratch = static_cast<std::byte*>(args.scratch) + part * part_bytes_;
    auto* results = reinterpret_cast<float*>(scratch + gathered_bytes_);
    if (direction() == ConvDirection::FilterGrad) std::fill_n(results, filter_, 0.0F);
    const int64_t begin = units() * index / parts(), end = units() * (index + 1) / parts();
    const int64_t chunks_of_unit = direction() == ConvDirection::InputGrad ? chunks_ : 1;
    if (direction() == ConvDirection::InputGrad) {
      const int64_t image = product_of(problem_.in) * channels_;
      std::fill_n(static_cast<float*>(args.out[0]) + begin * image, (end - begin) * image, 0.0F);
    }
    for (int64_t chunk = begin * chunks_of_unit; chunk < end * chunks_of_unit; ++chunk) {
      run_chunk(args, part, chunk / chunks_, chunk % chunks_, scratch);
    }
  }

  void run_chunk(const KernelArgs& args, size_t part, int64_t image, int64_t chunk,
                 std::byte* scratch) {
    auto* gathered = reinterpret_cast<float*>(scratch);
    auto* results = reinterpret_cast<float*>(scratch + gathered_bytes_);
    const int64_t first = chunk * rows_;
    const int64_t rows = std::min(rows_, positions_ - first);
    const int64_t y = (image * positions_ + first) * problem_.c_out;
    const int64_t x = image * product_of(problem_.in) * channels_;
    std::array<const void*, 3> in = {gathered, args.in[1], problem_.bias ? args.in[2] : nullptr};
    std::array<void*, 1> out = {gathered};
    switch (direction()) {
      case ConvDirection::Forward:
        gather(static_cast<const float*>(args.in[0]) + x, first, rows, gathered);
        out[0] = static_cast<float*>(args.out[0]) + y;
        break;
      case ConvDirection::InputGrad:
        in[0] = static_cast<const float*>(args.in[0]) + y;
        break;
      case ConvDirection::FilterGrad:
        gather(static_cast<const float*>(args.in[0]) + x, first, rows, gathered);
        in[1] = static_cast<const float*>(args.in[1]) + y;
        out[0] = results + filter_;
        break;
    }
    products_[part][chunk + 1 == chunks_]->run(
        {.in = in.data(), .out = out.data(), .scratch = scratch + product_offset_});
    if (direction() == ConvDirection::InputGrad) {
      scatter(gathered, first, rows, static_cast<float*>(args.out[0]) + x);
    } else if (direction() == ConvDirection::FilterGrad) {
      Eigen::Map<Array>(results, filter_) += Eigen::Map<const Array>(results + filter_, filter_);
    }
  }

  // Calls visit(line in a row of the matrix, line in the image, begin, end) for each line of taps
  // that these output positions read; its elements [begin, end) are in the image.
  template <class Visit>
  void each_line(int64_t first, int64_t rows, Visit visit) const {
    const int64_t width = problem_.in.back(), out_width = problem_.out.back();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t line = (first + row) / out_width, column = (first + row) % out_width;
      const int64_t left = column * problem_.strides.back() - problem_.low.back();
      const int64_t begin = std::clamp<int64_t>(-left, 0, problem_.taps.back());
      const int64_t end = std::clamp<int64_t>(width - left, begin, problem_.taps.back());
      for (int64_t tap = 0; tap < tap_lines_; ++tap) {
        const int64_t read = read_lines_[static_cast<size_t>(line * tap_lines_ + tap)];
        const int64_t from = (read * width + left) * channels_;
        const bool outside = read < 0;
        visit(row * row_ + tap * line_, from, outside ? 0 : begin * channels_,
              outside ? 0 : end * channels_);
      }
    }
  }

  void gather(const float* x, int64_t first, int64_t rows, float* gathered) const {
    each_line(first, rows, [&](int64_t line, int64_t from, int64_t begin, int64_t end) {
      float* to = gathered + line;
      if (begin > 0) std::fill_n(to, begin, 0.0F);
      if (end > begin) {
        std::memcpy(to + begin, x + from + begin, static_cast<size_t>(end - begin) * sizeof(float));
      }
      if (end < line_) std::fill_n(to + end, line_ - end, 0.0F);
    });
  }

  void scatter(const float* gathered, int64_t first, int64_t rows, float* x) const {
    each_line(first, rows, [&](int64_t line, int64_t to, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) x[to + i] += gathered[line + i];
    });
  }

  // Adds up the parts' sums, in order.
  void add_sums(const KernelArgs& args) const {
    constexpr int64_t kGrain = 4096;
    const auto* sums = static_cast<const std::byte*>(args.scratch) + gathered_bytes_;
    parallel_for(filter_, kGrain, [&](int64_t begin, int64_t end) {
      Eigen::Map<Array> total(static_cast<float*>(args.out[0]) + begin, end - begin);
      total.setZero();
      for (size_t part = 0; part < products_.size(); ++part) {
        const auto* sum = reinterpret_cast<const float*>(sums + part * part_bytes_);
        total += Eigen::Map<const Array>(sum + begin, end - begin);
      }
    });
  }

  ConvProblem problem_;
  int64_t channels_;   // of the input
  int64_t line_;       // elements that an output position reads in a row
  int64_t row_;        // and in all
  int64_t positions_;  // output positions of an image
  int64_t filter_;     // elements
  int64_t tap_lines_ = 1;
  std::vector<int64_t> read_lines_;  // by output line and line of taps; -1 in the padding
  int64_t chunks_ = 1;               // of an image
  int64_t rows_ = 0;                 // of a chunk, but for an image's last one
  // By part: for whole chunks, and for the last one of an image.
  std::vector<std::array<std::unique_ptr<Kernel>, 2>> products_;
  // Of a part's scratch memory: the gathered matrix, sums of a filter gradient, the product's own.
  size_t gathered_bytes_ = 0;
  size_t product_offset_ = 0;
  size_t part_bytes_ = 0;
};

// From some 1800 random shapes on one core of an AMD Zen 5: input gradients take 0.37 times as long
// as oneDNN's, filter gradients 0.8 times. oneDNN is faster at convolutions without much padding.
bool gathering_pays(const ConvProblem& problem) {
  const int64_t line = problem.taps.back();
  switch (problem.direction) {
    case ConvDirection::Forward:
      return problem.c_in == 1 && line >= 64 &&
             problem.low.back() + problem.high.back() >= line / 4;
    case ConvDirection::InputGrad:
      return problem.c_in <= 4 && problem.c_out >= 24 && product_of(problem.taps) > 1 &&
             problem.batch >= compute_threads();
    case ConvDirection::FilterGrad:
      return problem.c_in == 1 && line >= 40 && problem.c_out <= 128;
  }
  return false;
}

}  // namespace

std::unique_ptr<Kernel> make_gathered_conv(const ConvProblem& problem) {
  if (problem.dtype != DType::Float32 || problem.groups != 1 || !problem.all(problem.dilation, 1) ||
      product_of(problem.out) < kFewestPositions || !gathering_pays(problem)) {
    return nullptr;
  }
  if (problem.filter_size() > kMaxFilter) return nullptr;
  const int64_t lines = product_of(problem.out) / problem.out.back() *
                        (product_of(problem.taps) / problem.taps.back());
  if (lines > kMaxLines) return nullptr;
  auto kernel = std::make_unique<GatheredConv>(problem);
  if (!kernel->complete()) return nullptr;
  return kernel;
}

}  // namespace cornu::cpu

// SPDX-License-Identifier: Apache-2.0
// Convolutions by im2col: the inputs of each output position are gathered to a row of a matrix,
// which is multiplied by the filter in its own layout, or by the gradient. For few positions and
// large filters (the last layers of a network), where oneDNN's convolutions would first reorder the
// filter, which takes longer than all the rest; and for gradients of bfloat16 filters, to which
// oneDNN adds the part of each row of each image, so that the filter goes through memory as often.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kMaxPositions = 128;      // of all images together
constexpr int64_t kSmallestFilter = 65536;  // elements
constexpr int64_t kGrain = 16;              // positions per thread, at least
// For a bfloat16 filter's gradient: the minimum number of output channels per column of the image,
// and the maximum number of elements of the gathered matrix.
constexpr int64_t kChannelsPerColumn = 8;
constexpr int64_t kMaxGathered = 1 << 24;

class ProductConv : public Kernel {
 public:
  explicit ProductConv(const ConvProblem& problem)
      : direction_(problem.direction),
        bias_(problem.bias),
        batch_(problem.batch),
        in_(product_of(problem.in)),
        out_(product_of(problem.out)),
        taps_(product_of(problem.taps)),
        channels_(static_cast<size_t>(problem.c_in)),
        pixel_bytes_(channels_ * size_of(problem.dtype)),
        positions_(problem.input_positions()) {
    MatmulProblem matmul;
    matmul.dtype = problem.dtype;
    matmul.bias = problem.bias;
    matmul.activation = problem.activation;
    const int64_t rows = batch_ * out_;
    const int64_t columns = taps_ * problem.c_in;
    switch (direction_) {
      case ConvDirection::Forward:
        std::tie(matmul.m, matmul.k, matmul.n) = std::tuple(rows, columns, problem.c_out);
        break;
      case ConvDirection::InputGrad:
        std::tie(matmul.m, matmul.k, matmul.n) = std::tuple(rows, problem.c_out, columns);
        matmul.transpose_b = true;
        break;
      case ConvDirection::FilterGrad:
        std::tie(matmul.m, matmul.k, matmul.n) = std::tuple(columns, rows, problem.c_out);
        matmul.transpose_a = true;
        break;
    }
    matmul_ = make_onednn_matmul(matmul);
    gathered_bytes_ = round_up(static_cast<size_t>(rows * taps_) * pixel_bytes_, 64);
    if (direction_ == ConvDirection::InputGrad) find_readers();
  }

  bool complete() const { return matmul_ != nullptr; }

  size_t scratch_bytes() const override { return gathered_bytes_ + matmul_->scratch_bytes(); }

  void run(const KernelArgs& args) override {
    void* gathered = args.scratch;
    const void* in[] = {args.in[0], args.in[1], nullptr};
    void* out[] = {args.out[0]};
    if (direction_ == ConvDirection::InputGrad) {
      out[0] = gathered;
    } else {
      gather(static_cast<const std::byte*>(args.in[0]), static_cast<std::byte*>(gathered));
      in[0] = gathered;
      if (bias_) in[2] = args.in[2];
    }
    matmul_->run({.in = in,
                  .out = out,
                  .scratch = static_cast<std::byte*>(args.scratch) + gathered_bytes_,
                  .group = nullptr});
    if (direction_ == ConvDirection::InputGrad) {
      add_up(static_cast<const float*>(gathered), static_cast<float*>(args.out[0]));
    }
  }

 private:
  void gather(const std::byte* x, std::byte* gathered) const {
    parallel_for(batch_ * out_, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const std::byte* image = x + static_cast<size_t>(row / out_ * in_) * pixel_bytes_;
        for (int64_t tap = 0; tap < taps_; ++tap) {
          std::byte* to = gathered + static_cast<size_t>(row * taps_ + tap) * pixel_bytes_;
          const int64_t from = positions_[static_cast<size_t>(row % out_ * taps_ + tap)];
          if (from < 0) {
            std::memset(to, 0, pixel_bytes_);
          } else {
            std::memcpy(to, image + static_cast<size_t>(from) * pixel_bytes_, pixel_bytes_);
          }
        }
      }
    });
  }

  // By input position: the (output position, tap) pairs that read it, in order.
  void find_readers() {
    readers_.resize(static_cast<size_t>(in_));
    for (size_t i = 0; i < positions_.size(); ++i) {
      if (positions_[i] < 0) continue;
      readers_[static_cast<size_t>(positions_[i])].push_back(static_cast<int64_t>(i));
    }
  }

  void add_up(const float* gathered, float* dx) const {
    const ReduceFunctions sum = vector_reduce_functions(Reduction::Sum, DType::Float32);
    const auto image = static_cast<size_t>(out_ * taps_);
    parallel_for(batch_ * in_, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t position = begin; position < end; ++position) {
        float* to = dx + static_cast<size_t>(position) * channels_;
        sum.fill(to, channels_);
        const float* from = gathered + static_cast<size_t>(position / in_) * image * channels_;
        for (const int64_t reader : readers_[static_cast<size_t>(position % in_)]) {
          sum.columns(from + static_cast<size_t>(reader) * channels_, 1, channels_, channels_, to);
        }
      }
    });
  }

  ConvDirection direction_;
  bool bias_;
  int64_t batch_;
  int64_t in_;  // positions of an image
  int64_t out_;
  int64_t taps_;
  size_t channels_;  // of the input
  size_t pixel_bytes_;
  std::vector<int64_t> positions_;
  std::vector<std::vector<int64_t>> readers_;
  std::unique_ptr<Kernel> matmul_;
  size_t gathered_bytes_ = 0;
};

// At most as many positions as output channels: the gathered matrix is no larger than the filter.
bool has_few_positions(const ConvProblem& problem) {
  const int64_t positions = problem.batch * product_of(problem.out);
  return problem.dtype == DType::Float32 && problem.filter_size() >= kSmallestFilter &&
         positions <= std::min(kMaxPositions, problem.c_out);
}

bool has_costly_half_gradient(const ConvProblem& problem) {
  const int64_t gathered =
      problem.batch * product_of(problem.out) * product_of(problem.taps) * problem.c_in;
  return problem.dtype == DType::BFloat16 && problem.direction == ConvDirection::FilterGrad &&
         product_of(problem.taps) > 1 && problem.c_out >= kChannelsPerColumn * problem.out.back() &&
         gathered <= kMaxGathered;
}

}  // namespace

std::unique_ptr<Kernel> make_product_conv(const ConvProblem& problem) {
  if (problem.groups != 1) return nullptr;
  if (!has_few_positions(problem) && !has_costly_half_gradient(problem)) return nullptr;
  auto kernel = std::make_unique<ProductConv>(problem);
  if (!kernel->complete()) return nullptr;
  return kernel;
}

}  // namespace cornu::cpu

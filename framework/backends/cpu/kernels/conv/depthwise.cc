// SPDX-License-Identifier: Apache-2.0
// Gradients of depthwise filters. Each channel is an independent problem, so the channels are
// divided among threads, and a vector holds neighboring ones; a tap's sum over an image stays in
// registers. Sums follow the order of images, and of output positions within them: it doesn't
// depend on the number of threads.
#include "framework/backends/cpu/kernels/conv/depthwise.h"

#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kChannels = 16;             // a thread's share is a multiple
constexpr int64_t kThreadProducts = 1 << 17;  // per thread, at least
constexpr int64_t kMaxPairs = 1 << 18;        // of an image's outputs and taps
// Number of outputs that all taps process before the next ones, so that they stay in the cache.
constexpr int64_t kOutputs = 1024;
// oneDNN 2.6 is fast for up to nine taps, if there are more than a few outputs.
constexpr int64_t kFastTaps = 9;
constexpr int64_t kFewOutputs = 9;

class DepthwiseFilterGrad : public Kernel {
 public:
  explicit DepthwiseFilterGrad(const ConvProblem& problem)
      : batch_(problem.batch),
        channels_(problem.c_in),
        x_size_(product_of(problem.in) * channels_),
        y_size_(product_of(problem.out) * channels_),
        taps_(product_of(problem.taps)) {
    const std::vector<int64_t> positions = problem.input_positions();
    const int64_t outputs = product_of(problem.out);
    for (int64_t first = 0; first < outputs; first += kOutputs) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        std::vector<DepthwisePair>& pairs = pairs_.emplace_back();
        for (int64_t output = first; output < std::min(first + kOutputs, outputs); ++output) {
          const int64_t input = positions[static_cast<size_t>(output * taps_ + tap)];
          if (input >= 0) pairs.push_back({input * channels_, output * channels_});
        }
      }
    }
    const auto products = static_cast<int64_t>(positions.size()) * batch_ * kChannels;
    grain_ = kChannels * std::max<int64_t>(1, kThreadProducts / products);
  }

  void run(const KernelArgs& args) override {
    auto* filter = static_cast<float*>(args.out[0]);
    std::memset(filter, 0, static_cast<size_t>(taps_ * channels_) * sizeof(float));
    parallel_for(channels_, grain_, [&](int64_t begin, int64_t end) {
      for (int64_t image = 0; image < batch_; ++image) {
        const float* x = static_cast<const float*>(args.in[0]) + image * x_size_ + begin;
        const float* y = static_cast<const float*>(args.in[1]) + image * y_size_ + begin;
        for (size_t i = 0; i < pairs_.size(); ++i) {
          float* sums = filter + static_cast<int64_t>(i) % taps_ * channels_ + begin;
          add_(pairs_[i], x, y, sums, static_cast<size_t>(end - begin));
        }
      }
    });
  }

 private:
  int64_t batch_;
  int64_t channels_;
  int64_t x_size_;  // elements of an image
  int64_t y_size_;
  int64_t taps_;
  std::vector<std::vector<DepthwisePair>> pairs_;  // by outputs, then by tap
  int64_t grain_ = kChannels;
  DepthwiseSum add_ = simd_depthwise_sum();
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise_filter_grad(const ConvProblem& problem) {
  const bool depthwise = problem.groups == problem.c_in && problem.c_in == problem.c_out;
  if (!depthwise || problem.c_in < kChannels) return nullptr;
  if (problem.dtype != DType::Float32) return nullptr;
  if (problem.direction != ConvDirection::FilterGrad) return nullptr;
  const int64_t taps = product_of(problem.taps);
  const int64_t outputs = product_of(problem.out);
  if (taps <= kFastTaps && outputs > kFewOutputs) return nullptr;
  if (outputs > kMaxPairs / taps) return nullptr;
  return std::make_unique<DepthwiseFilterGrad>(problem);
}

}  // namespace cornu::cpu

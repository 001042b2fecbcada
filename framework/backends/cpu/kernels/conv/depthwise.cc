// SPDX-License-Identifier: Apache-2.0
// Gradients of depthwise filters. Each channel is a problem of its own, so threads share out the
// channels, and a vector holds neighbouring ones; a tap's sum over an image stays in registers. The
// order of sums is that of images, and of output positions within them: it doesn't depend on the
// number of threads.
#include "framework/backends/cpu/kernels/conv/depthwise.h"

#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kChannels = 16;             // a thread's share is a multiple
constexpr int64_t kThreadProducts = 1 << 17;  // per thread, at least
constexpr int64_t kMostPairs = 1 << 19;       // of an image's outputs and taps
// oneDNN 2.6 is fast for filters of up to 3 x 3 taps, if there are more outputs than a few.
constexpr int64_t kFastTaps = 9;
constexpr int64_t kFewOutputs = 9;

class DepthwiseFilterGrad : public Kernel {
 public:
  explicit DepthwiseFilterGrad(const ConvProblem& problem)
      : batch_(problem.batch),
        channels_(problem.c_in),
        x_size_(product_of(problem.in) * channels_),
        y_size_(product_of(problem.out) * channels_),
        pairs_(static_cast<size_t>(product_of(problem.taps))) {
    const std::vector<int64_t> positions = problem.input_positions();
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] < 0) continue;
      const auto output = static_cast<int64_t>(i / pairs_.size());
      pairs_[i % pairs_.size()].push_back({positions[i] * channels_, output * channels_});
    }
    const auto products = static_cast<int64_t>(positions.size()) * batch_ * kChannels;
    grain_ = kChannels * std::max<int64_t>(1, kThreadProducts / products);
  }

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const float*>(args.in[0]);
    const auto* y = static_cast<const float*>(args.in[1]);
    auto* filter = static_cast<float*>(args.out[0]);
    std::memset(filter, 0, pairs_.size() * static_cast<size_t>(channels_) * sizeof(float));
    parallel_for(channels_, grain_, [&](int64_t begin, int64_t end) {
      for (int64_t image = 0; image < batch_; ++image) {
        const float* image_x = x + image * x_size_ + begin;
        const float* image_y = y + image * y_size_ + begin;
        float* sums = filter + begin;
        for (const auto& pairs : pairs_) {
          add_(pairs, image_x, image_y, sums, static_cast<size_t>(end - begin));
          sums += channels_;
        }
      }
    });
  }

 private:
  int64_t batch_;
  int64_t channels_;
  int64_t x_size_;  // elements of an image
  int64_t y_size_;
  std::vector<std::vector<DepthwisePair>> pairs_;  // by tap
  int64_t grain_ = kChannels;
  DepthwiseSum add_ = simd_depthwise_sum();
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise_filter_grad(const ConvProblem& problem) {
  const bool depthwise = problem.groups == problem.c_in && problem.c_in == problem.c_out;
  if (!depthwise || problem.dtype != DType::Float32) return nullptr;
  if (problem.direction != ConvDirection::FilterGrad) return nullptr;
  const int64_t taps = product_of(problem.taps);
  const int64_t outputs = product_of(problem.out);
  if (taps <= kFastTaps && outputs > kFewOutputs) return nullptr;
  if (outputs > kMostPairs / taps) return nullptr;
  return std::make_unique<DepthwiseFilterGrad>(problem);
}

}  // namespace cornu::cpu

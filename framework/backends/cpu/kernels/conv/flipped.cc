// SPDX-License-Identifier: Apache-2.0
// The input gradient of a convolution with stride 1, computed as a convolution of the output's
// gradient with the flipped filter: taps in reverse order, input and output channels exchanged.
// oneDNN's forward kernels are faster than its kernels for input gradients (5 x 5 taps, 256 output
// and 128 input channels, 7 x 7 positions, 64 images: 8 ms instead of 13).
#include <utility>

#include "framework/backends/cpu/kernels/conv/onednn.h"
#include "framework/backends/cpu/kernels/shape/copy.h"

namespace cornu::cpu::onednn {
namespace {

// With fewer positions, flipping the filter costs as much as it gains.
constexpr int64_t kFewestPositions = 2048;  // of all images

class FlippedConv : public Kernel {
 public:
  FlippedConv(const ConvProblem& problem, std::unique_ptr<Kernel> forward)
      : forward_(std::move(forward)), flip_(flip_of(problem)) {
    filter_bytes_ = aligned(static_cast<size_t>(problem.filter_size()) * size_of(problem.dtype));
  }

  size_t scratch_bytes() const override { return filter_bytes_ + forward_->scratch_bytes(); }

  void run(const KernelArgs& args) override {
    auto* filter = static_cast<std::byte*>(args.scratch);
    flip_.run(args.in[1], filter);
    const void* in[] = {args.in[0], filter, nullptr};
    forward_->run({.in = in, .out = args.out, .scratch = filter + filter_bytes_});
  }

 private:
  // From (taps, c_in, c_out) to (taps, c_out, c_in).
  static StridedCopy flip_of(const ConvProblem& problem) {
    const int64_t taps = product_of(problem.taps), in = problem.c_in, out = problem.c_out;
    return StridedCopy(size_of(problem.dtype),
                       {{taps, -in * out, in * out}, {out, 1, in}, {in, out, 1}},
                       (taps - 1) * in * out);
  }

  std::unique_ptr<Kernel> forward_;
  StridedCopy flip_;
  size_t filter_bytes_ = 0;
};

// Measured with two axes. Elsewhere the forward kernels are often slower: for channels that don't
// fill vectors, dilated filters, and outputs smaller than the input, which need more padding.
bool flipping_pays(const ConvProblem& problem) {
  return problem.spatial() == 2 && problem.groups == 1 && problem.all(problem.strides, 1) &&
         problem.all(problem.dilation, 1) && problem.in == problem.out && problem.c_in >= 32 &&
         problem.c_in % 16 == 0 && problem.c_out >= 32 && problem.c_out % 16 == 0 &&
         problem.batch * product_of(problem.in) >= kFewestPositions && !uses_winograd(problem);
}

}  // namespace

std::unique_ptr<Kernel> make_flipped_conv(const ConvProblem& problem) {
  if (problem.direction != ConvDirection::InputGrad || !flipping_pays(problem)) return nullptr;
  ConvProblem forward = problem;
  forward.direction = ConvDirection::Forward;
  std::swap(forward.c_in, forward.c_out);
  std::swap(forward.in, forward.out);
  for (size_t i = 0; i < problem.spatial(); ++i) {
    const int64_t reach = problem.taps[i] - 1;
    forward.low[i] = reach - problem.low[i];
    forward.high[i] = reach - problem.high[i];
  }
  auto kernel = make_onednn_conv(forward);
  if (!kernel) return nullptr;
  return std::make_unique<FlippedConv>(problem, std::move(kernel));
}

}  // namespace cornu::cpu::onednn

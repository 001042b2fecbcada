// SPDX-License-Identifier: Apache-2.0
// Divides the images of a batch among threads, each of which convolves a few at a time with a
// single-threaded primitive: the data of reorders and relu stays in the cache, and threads don't
// wait for each other. Winograd's method gains most.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "framework/backends/cpu/kernels/conv/onednn.h"
#include "framework/backends/cpu/kernels/pooling/rectify.h"
#include "framework/core/threads.h"

namespace cornu::cpu::onednn {
namespace {

constexpr int64_t kChunkBytes = 1 << 20;  // of images that are processed at a time

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// The fraction of the 4 x 4 tiles of Winograd's method that an image of this size fills.
double tile_fill(const std::vector<int64_t>& image) {
  double fill = 1;
  for (int64_t size : image) {
    fill *= static_cast<double>(size) / static_cast<double>(round_up(size, 4));
  }
  return fill;
}

// From measurements on one core of an AMD Zen 5, with shapes typical of small models.
bool winograd_pays(const ConvProblem& problem) {
  const int64_t images = problem.batch / compute_threads();  // of a thread
  const bool fits = problem.spatial() == 2 && problem.groups == 1 && problem.all(problem.taps, 3) &&
                    problem.all(problem.strides, 1) && problem.all(problem.dilation, 1) &&
                    problem.c_in % 16 == 0 && problem.c_out % 16 == 0 && problem.c_in >= 32 &&
                    problem.c_out >= 32;
  if (!fits || problem.dtype != DType::Float32) return false;
  const bool input_grad = problem.direction == ConvDirection::InputGrad;
  const std::vector<int64_t>& image = input_grad ? problem.in : problem.out;
  const double fill = tile_fill(image);
  const int64_t tiles = images * round_up(image[0], 4) / 4 * (round_up(image[1], 4) / 4);
  // Fewer tiles gain less than transforming the filter costs.
  if (tiles < std::max<int64_t>(64, problem.c_in * problem.c_out / 128)) return false;
  if (problem.direction == ConvDirection::FilterGrad) return true;
  const int64_t made = input_grad ? problem.c_in : problem.c_out;
  return fill > 0.7 || made >= 64;
}

// How many of the `left` remaining images to process at a time by Winograd's method. They share a
// transformed filter; with powers of two, the intermediate arrays evict each other from the caches
// (up to twice as slow).
int64_t winograd_chunk(int64_t left) {
  constexpr int64_t kChunk = 21;
  if (left >= kChunk + 6) return kChunk;
  return left % 8 == 0 && left > 8 ? left * 2 / 3 | 1 : left;
}

class TiledConv : public Kernel {
 public:
  // `chunk(left)`: how many of the remaining images a primitive processes.
  TiledConv(const ConvProblem& problem, Type type, ConvForm form,
            FunctionRef<int64_t(int64_t)> chunk)
      : problem_(problem),
        type_(type),
        form_(form),
        x_image_(product_of(problem.in) * problem.c_in * element()),
        y_image_(product_of(problem.out) * problem.c_out * element()),
        rectify_(simd_rectify(problem.dtype, problem.activation)) {
    const int64_t parts = std::min<int64_t>(compute_threads(), problem.batch);
    {
      const ComputeThreadsScope alone(1);
      for (int64_t i = 0; i < parts && complete_; ++i) {
        add_part(problem.batch * i / parts, problem.batch * (i + 1) / parts, chunk);
      }
    }
    if (complete_) plan_memory();
  }

  // Whether oneDNN has primitives for all chunks.
  bool complete() const { return complete_; }

  size_t scratch_bytes() const override { return inner_offset_ + inner_bytes_ * parts_.size(); }

  void run(const KernelArgs& args) override {
    auto* scratch = static_cast<std::byte*>(args.scratch);
    const void* filter = args.in[1];
    if (reorder_ && !filter_grad()) {
      reorder_->bind(0, filter);
      reorder_->bind(1, scratch);
      reorder_->run();
      filter = scratch;
    }
    std::atomic<bool> failed = false;
    parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
      const auto part = static_cast<size_t>(index);
      for (Chunk& chunk : parts_[part].chunks) {
        void* inner = scratch + inner_offset_ + part * inner_bytes_;
        if (!run_chunk(chunk, args, filter, scratch, inner)) failed = true;
      }
    });
    check<Internal>(!failed, "convolution: oneDNN failed.");
    if (filter_grad()) add_gradients(args, scratch);
  }

 private:
  struct Chunk {
    int64_t begin;  // images
    int64_t count;
    Kernel* kernel;
    size_t gradient;  // where the filter's gradient from these images goes, in scratch memory
  };
  struct Part {
    std::vector<Chunk> chunks;
    std::map<int64_t, std::unique_ptr<Kernel>> kernels;  // by number of images
  };

  bool filter_grad() const { return problem_.direction == ConvDirection::FilterGrad; }
  int64_t element() const { return static_cast<int64_t>(size_of(problem_.dtype)); }

  void add_part(int64_t begin, int64_t end, FunctionRef<int64_t(int64_t)> chunk) {
    Part part;
    for (int64_t count; begin < end; begin += count) {
      count = std::min(chunk(end - begin), end - begin);
      auto& kernel = part.kernels[count];
      if (!kernel) kernel = make_chunk_kernel(count);
      complete_ = kernel != nullptr;
      if (!complete_) return;
      part.chunks.push_back({begin, count, kernel.get(), 0});
    }
    parts_.push_back(std::move(part));
  }

  // The filter is in the layout of the first kernel, which most others share.
  std::unique_ptr<Kernel> make_chunk_kernel(int64_t images) {
    ConvProblem problem = problem_;
    problem.batch = images;
    const auto made = make_conv_primitive(problem, type_, form_);
    if (!made) return nullptr;
    if (parts_.empty() && !filter_) {
      filter_ = made->inside.filter;
      plain_filter_ = made->outside.filter;
    }
    std::vector<Operand> operands = made->operands(problem.direction);
    operands[filter_grad() ? 2 : 1].outside = *filter_;
    auto kernel = make_kernel(made->primitive, made->scratchpad, operands);
    inner_bytes_ = std::max(inner_bytes_, kernel->scratch_bytes());
    return kernel;
  }

  void plan_memory() {
    const bool differs = *filter_ != plain_filter_;
    const size_t filter = aligned(filter_->get_size());
    size_t offset = 0;
    if (filter_grad()) {
      for (Part& part : parts_) {
        for (Chunk& chunk : part.chunks) {
          chunk.gradient = offset;
          offset += filter;
        }
      }
    } else if (differs) {
      offset += filter;
    }
    if (differs) {
      reorder_ = filter_grad() ? reorder_step(*filter_, plain_filter_)
                               : reorder_step(plain_filter_, *filter_);
    }
    inner_offset_ = offset;
  }

  bool run_chunk(Chunk& chunk, const KernelArgs& args, const void* filter, std::byte* scratch,
                 void* inner) const {
    const auto at = [&](const void* base, int64_t image) {
      return const_cast<std::byte*>(static_cast<const std::byte*>(base)) + chunk.begin * image;
    };
    std::array<const void*, 3> in;
    std::array<void*, 1> out;
    switch (problem_.direction) {
      case ConvDirection::Forward:
        in = {at(args.in[0], x_image_), filter, problem_.bias ? args.in[2] : nullptr};
        out = {at(args.out[0], y_image_)};
        break;
      case ConvDirection::InputGrad:
        in = {at(args.in[0], y_image_), filter, nullptr};
        out = {at(args.out[0], x_image_)};
        break;
      case ConvDirection::FilterGrad:
        in = {at(args.in[0], x_image_), at(args.in[1], y_image_), nullptr};
        out = {scratch + chunk.gradient};
        break;
    }
    try {
      chunk.kernel->run({.in = in.data(), .out = out.data(), .scratch = inner});
    } catch (const Internal&) {
      return false;
    }
    if (rectify_) rectify_(out[0], 1, chunk.count * y_image_ / element(), 0);
    return true;
  }

  // Adds up the chunks' gradients, in order.
  void add_gradients(const KernelArgs& args, std::byte* scratch) {
    constexpr int64_t kGrain = 4096;
    using Row = Eigen::Array<float, Eigen::Dynamic, 1>;
    auto gradient = [&](const Chunk& chunk) {
      return reinterpret_cast<float*>(scratch + chunk.gradient);
    };
    float* first = gradient(parts_[0].chunks[0]);
    float* sum = reorder_ ? first : static_cast<float*>(args.out[0]);
    const auto count = static_cast<int64_t>(filter_->get_size() / sizeof(float));
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      Eigen::Map<Row> total(sum + begin, end - begin);
      if (sum != first) total = Eigen::Map<const Row>(first + begin, end - begin);
      for (const Part& part : parts_) {
        for (const Chunk& chunk : part.chunks) {
          if (gradient(chunk) == first) continue;
          total += Eigen::Map<const Row>(gradient(chunk) + begin, end - begin);
        }
      }
    });
    if (!reorder_) return;
    reorder_->bind(0, sum);
    reorder_->bind(1, args.out[0]);
    reorder_->run();
  }

  ConvProblem problem_;
  Type type_;
  ConvForm form_;
  int64_t x_image_;  // bytes
  int64_t y_image_;
  Rectify rectify_;
  std::vector<Part> parts_;
  std::optional<Desc> filter_;  // in the layout of the chunks' kernels
  Desc plain_filter_;
  std::optional<Step> reorder_;  // between the two layouts
  size_t inner_offset_ = 0;      // of the parts' workspaces in scratch memory
  size_t inner_bytes_ = 0;       // of each
  bool complete_ = true;
};

// Bytes of the input and the output of one image.
int64_t image_bytes(const ConvProblem& problem) {
  return (product_of(problem.in) * problem.c_in + product_of(problem.out) * problem.c_out) *
         static_cast<int64_t>(size_of(problem.dtype));
}

// Not with too few images, nor with filters too large to copy for each thread.
bool tiles_pay(const ConvProblem& problem) {
  const int64_t threads = compute_threads();
  const int64_t filter = problem.filter_size() * static_cast<int64_t>(size_of(problem.dtype));
  return problem.batch >= 2 * threads && filter * threads <= problem.batch * image_bytes(problem);
}

}  // namespace

bool uses_winograd(const ConvProblem& problem) {
  return tiles_pay(problem) && winograd_pays(problem);
}

std::unique_ptr<Kernel> make_tiled_conv(const ConvProblem& problem, Type type) {
  if (!tiles_pay(problem)) return nullptr;
  const bool winograd = winograd_pays(problem);
  if (problem.direction == ConvDirection::FilterGrad && !winograd) return nullptr;
  const ConvForm form =
      winograd ? ConvForm{dnnl::algorithm::convolution_winograd, true} : ConvForm{};
  auto kernel = std::make_unique<TiledConv>(problem, type, form, [&](int64_t left) {
    return winograd ? winograd_chunk(left)
                    : std::max<int64_t>(1, kChunkBytes / image_bytes(problem));
  });
  if (!kernel->complete()) return nullptr;
  return kernel;
}

}  // namespace cornu::cpu::onednn

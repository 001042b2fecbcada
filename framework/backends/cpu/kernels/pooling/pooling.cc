// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/pooling/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kMaxNumbers = 256;  // positions that a byte can hold

// NaN beats everything.
template <class T>
bool beats(T value, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    return value > best || std::isnan(value);
  } else {
    return value > best;
  }
}

// The offset in the image of the first maximum of a window, for channel `c`; -1 for an empty
// window.
template <class T>
int64_t find_maximum(const PoolWindow& window, const T* image, int64_t c) {
  auto at = window.positions();
  if (!at.more()) return -1;
  int64_t best = at.offset + c;
  for (at.next(); at.more(); at.next()) {
    if (beats(image[at.offset + c], image[best])) best = at.offset + c;
  }
  return best;
}

template <class T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

// Calls `visit(image, window, offset in y, channel)` for every output element of images [begin,
// end).
template <class Visit>
void each_output(const PoolProblem& problem, Visit visit) {
  parallel_for(problem.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      for (PoolOutputs out{problem}; out.more(); out.next()) {
        const PoolWindow window = out.window();
        for (int64_t c = 0; c < problem.channels; ++c) {
          visit(n, window, n * problem.pooled() + out.offset + c, c);
        }
      }
    }
  });
}

template <class T>
void clear(const KernelArgs& args, int64_t count) {
  std::fill_n(static_cast<T*>(args.out[0]), count, T());
}

template <class T>
void plain_max(const PoolProblem& problem, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.in[0]);
  T* y = static_cast<T*>(args.out[0]);
  each_output(problem, [&](int64_t n, const PoolWindow& window, int64_t to, int64_t c) {
    const T* image = x + n * problem.image();
    const int64_t best = find_maximum(window, image, c);
    y[to] = best < 0 ? lowest<T>() : image[best];
  });
}

// (x, y, dy) -> dx
template <class T>
void plain_max_grad(const PoolProblem& problem, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.in[0]);
  const T* dy = static_cast<const T*>(args.in[2]);
  T* dx = static_cast<T*>(args.out[0]);
  clear<T>(args, problem.batch * problem.image());
  each_output(problem, [&](int64_t n, const PoolWindow& window, int64_t from, int64_t c) {
    const int64_t best = find_maximum(window, x + n * problem.image(), c);
    if (best >= 0) dx[n * problem.image() + best] += dy[from];
  });
}

// (x, y, g) -> g at the maxima
template <class T>
void plain_max_select(const PoolProblem& problem, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.in[0]);
  const T* g = static_cast<const T*>(args.in[2]);
  T* out = static_cast<T*>(args.out[0]);
  each_output(problem, [&](int64_t n, const PoolWindow& window, int64_t to, int64_t c) {
    const int64_t best = find_maximum(window, x + n * problem.image(), c);
    out[to] = best < 0 ? T{0} : g[n * problem.image() + best];
  });
}

template <class T>
void plain_average(const PoolProblem& problem, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.in[0]);
  T* y = static_cast<T*>(args.out[0]);
  each_output(problem, [&](int64_t n, const PoolWindow& window, int64_t to, int64_t c) {
    const T* image = x + n * problem.image();
    T sum{0};
    for (auto at = window.positions(); at.more(); at.next()) sum += image[at.offset + c];
    y[to] = sum / static_cast<T>(std::max<int64_t>(1, window.size()));
  });
}

template <class T>
void plain_average_grad(const PoolProblem& problem, const KernelArgs& args) {
  const T* dy = static_cast<const T*>(args.in[0]);
  T* dx = static_cast<T*>(args.out[0]);
  clear<T>(args, problem.batch * problem.image());
  each_output(problem, [&](int64_t n, const PoolWindow& window, int64_t from, int64_t c) {
    T* image = dx + n * problem.image();
    const T part = dy[from] / static_cast<T>(std::max<int64_t>(1, window.size()));
    for (auto at = window.positions(); at.more(); at.next()) image[at.offset + c] += part;
  });
}

// The arguments of a vectorized kernel: float32 images, and positions of maxima.
struct Images {
  const float* in;
  float* out;
  uint8_t* index;  // of a pooled image; null for kernels without it
};

struct Sizes {  // elements of an image
  int64_t in;
  int64_t out;
};
Sizes pools(const PoolProblem& problem) { return {problem.image(), problem.pooled()}; }
Sizes unpools(const PoolProblem& problem) { return {problem.pooled(), problem.image()}; }

uint8_t* no_index(const KernelArgs&) { return nullptr; }
uint8_t* index_out(const KernelArgs& args) { return static_cast<uint8_t*>(args.out[1]); }
// Read only.
uint8_t* index_in(const KernelArgs& args) {
  return static_cast<uint8_t*>(const_cast<void*>(args.in[1]));
}

// Calls `run(problem, images, begin, end)` for ranges of images, in parallel; 16-bit images are
// processed one at a time, widened while they are in the cache.
template <class Run>
std::unique_ptr<Kernel> make_per_image(const PoolProblem& problem, DType dtype, Sizes sizes,
                                       uint8_t* (*index)(const KernelArgs&), Run run) {
  if (dtype == DType::Float32) {
    return make_kernel([=](const KernelArgs& args) {
      const Images images{static_cast<const float*>(args.in[0]), static_cast<float*>(args.out[0]),
                          index(args)};
      parallel_for(problem.batch, 1,
                   [&](int64_t begin, int64_t end) { run(problem, images, begin, end); });
    });
  }
  const TileFn widen = cast_tile(dtype, DType::Float32);
  const TileFn narrow = cast_tile(DType::Float32, dtype);
  return make_kernel([=](const KernelArgs& args) {
    parallel_for(problem.batch, 1, [&](int64_t begin, int64_t end) {
      const auto elements = static_cast<size_t>(sizes.in + sizes.out);
      auto* in = reinterpret_cast<float*>(thread_memory(elements * sizeof(float)));
      float* out = in + sizes.in;
      for (int64_t n = begin; n < end; ++n) {
        const auto at = static_cast<size_t>(n) * size_of(dtype);
        uint8_t* numbers = index(args);
        if (numbers) numbers += n * problem.pooled();
        convert(widen,
                static_cast<const std::byte*>(args.in[0]) + at * static_cast<size_t>(sizes.in), in,
                sizes.in);
        run(problem, Images{in, out, numbers}, 0, 1);
        convert(narrow, out,
                static_cast<std::byte*>(args.out[0]) + at * static_cast<size_t>(sizes.out),
                sizes.out);
      }
    });
  });
}

const float* float_in(const KernelArgs& args, int index) {
  return static_cast<const float*>(args.in[index]);
}
float* float_out(const KernelArgs& args) { return static_cast<float*>(args.out[0]); }

// A kernel that runs `plain`, for all arithmetic dtypes; 16-bit ones go through float32.
template <class Plain>
std::unique_ptr<Kernel> make_plain(const KernelSpec& spec, const PoolProblem& problem, Plain plain,
                                   const KernelFactory& self) {
  return dispatch_dtype(spec.inputs[0].dtype, [&]<class T>(T tag) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return make_kernel(
          [problem, plain, tag](const KernelArgs& args) { plain(tag, problem, args); });
    } else {
      return through_float32(spec, self);
    }
  });
}

std::unique_ptr<Kernel> make_max(const KernelSpec& spec) {
  const PoolProblem problem(spec.inputs[0].shape, spec.outputs[0].shape, spec.attributes);
  const DType dtype = spec.inputs[0].dtype;
  if (computes_in_float32(dtype)) {
    return make_per_image(
        problem, dtype, pools(problem), no_index,
        [run = simd_pooling().max](const auto& p, const Images& images, int64_t begin,
                                   int64_t end) { run(p, images.in, images.out, begin, end); });
  }
  return make_plain(
      spec, problem, []<class T>(T, const auto& p, const auto& args) { plain_max<T>(p, args); },
      make_max);
}

bool fits_byte(const PoolProblem& problem) {
  return problem.window[0] * problem.window[1] * problem.window[2] <= kMaxNumbers;
}

// Finds the maxima again, then scatters the gradients.
std::unique_ptr<Kernel> make_simd_max_grad(const PoolProblem& problem) {
  const int64_t count = problem.batch * problem.pooled();
  auto run = [problem, count, simd = simd_pooling()](const KernelArgs& args) {
    auto* y = static_cast<float*>(args.scratch);
    auto* index = reinterpret_cast<uint8_t*>(y + count);
    parallel_for(problem.batch, 1, [&](int64_t begin, int64_t end) {
      simd.max_with_index(problem, false, float_in(args, 0), y, index, begin, end);
      simd.max_scatter(problem, float_in(args, 2), index, float_out(args), begin, end);
    });
  };
  return make_kernel(run, static_cast<size_t>(count) * (sizeof(float) + sizeof(uint8_t)));
}

std::unique_ptr<Kernel> make_max_grad(const KernelSpec& spec) {
  const PoolProblem problem(spec.inputs[0].shape, spec.inputs[1].shape, spec.attributes);
  if (spec.inputs[0].dtype == DType::Float32 && fits_byte(problem)) {
    return make_simd_max_grad(problem);
  }
  return make_plain(
      spec, problem,
      []<class T>(T, const auto& p, const auto& args) { plain_max_grad<T>(p, args); },
      make_max_grad);
}

std::unique_ptr<Kernel> make_max_select(const KernelSpec& spec) {
  const PoolProblem problem(spec.inputs[0].shape, spec.inputs[1].shape, spec.attributes);
  return make_plain(
      spec, problem,
      []<class T>(T, const auto& p, const auto& args) { plain_max_select<T>(p, args); },
      make_max_select);
}

std::unique_ptr<Kernel> make_average(const KernelSpec& spec) {
  const PoolProblem problem(spec.inputs[0].shape, spec.outputs[0].shape, spec.attributes);
  const DType dtype = spec.inputs[0].dtype;
  if (computes_in_float32(dtype)) {
    return make_per_image(
        problem, dtype, pools(problem), no_index,
        [run = simd_pooling().average](const auto& p, const Images& images, int64_t begin,
                                       int64_t end) { run(p, images.in, images.out, begin, end); });
  }
  return make_plain(
      spec, problem, []<class T>(T, const auto& p, const auto& args) { plain_average<T>(p, args); },
      make_average);
}

std::unique_ptr<Kernel> make_average_grad(const KernelSpec& spec) {
  const PoolProblem problem(spec.outputs[0].shape, spec.inputs[0].shape, spec.attributes);
  const DType dtype = spec.inputs[0].dtype;
  if (computes_in_float32(dtype)) {
    return make_per_image(problem, dtype, unpools(problem), no_index,
                          [run = simd_pooling().average_grad](const auto& p, const Images& images,
                                                              int64_t begin, int64_t end) {
                            run(p, images.in, images.out, begin, end);
                          });
  }
  return make_plain(
      spec, problem,
      []<class T>(T, const auto& p, const auto& args) { plain_average_grad<T>(p, args); },
      make_average_grad);
}

std::unique_ptr<Kernel> make_max_with_index(const KernelSpec& spec) {
  const PoolProblem problem(spec.inputs[0].shape, spec.outputs[0].shape, spec.attributes);
  if (!fits_byte(problem)) return nullptr;
  if (!computes_in_float32(spec.inputs[0].dtype)) return nullptr;
  const bool relu = spec.attributes.get_string("activation") == "relu";
  return make_per_image(problem, spec.inputs[0].dtype, pools(problem), index_out,
                        [relu, run = simd_pooling().max_with_index](
                            const auto& p, const Images& images, int64_t begin, int64_t end) {
                          run(p, relu, images.in, images.out, images.index, begin, end);
                        });
}

std::unique_ptr<Kernel> make_max_scatter(const KernelSpec& spec) {
  const PoolProblem problem(spec.outputs[0].shape, spec.inputs[0].shape, spec.attributes);
  if (!fits_byte(problem)) return nullptr;
  if (!computes_in_float32(spec.inputs[0].dtype)) return nullptr;
  return make_per_image(problem, spec.inputs[0].dtype, unpools(problem), index_in,
                        [run = simd_pooling().max_scatter](const auto& p, const Images& images,
                                                           int64_t begin, int64_t end) {
                          run(p, images.in, images.index, images.out, begin, end);
                        });
}

}  // namespace

PoolProblem::PoolProblem(const Shape& x, const Shape& y, const Attributes& attributes)
    : batch(x[0]), channels(x.back()) {
  in = window = out = strides = {1, 1, 1};
  low = {0, 0, 0};
  const auto& windows = attributes.get_ints("window");
  const auto& steps = attributes.get_ints("strides");
  const auto& padding = attributes.get_ints("padding");
  const size_t first = 3 - windows.size();
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 1;
    in[first + i] = x[axis];
    out[first + i] = y[axis];
    window[first + i] = windows[i];
    // Strides beyond the image are all equivalent, and sums with them must not overflow.
    const int64_t extent = x[axis] + padding[2 * i] + padding[2 * i + 1];
    strides[first + i] = std::clamp<int64_t>(steps[i], 1, std::max<int64_t>(extent, 1));
    low[first + i] = padding[2 * i];
  }
  const bool fits = window[0] <= in[0] && window[1] <= in[1] && window[2] <= in[2];
  if (!fits) return;
  for (int64_t i = 0; i < window[0]; ++i) {
    for (int64_t j = 0; j < window[1]; ++j) {
      for (int64_t k = 0; k < window[2]; ++k) {
        inside.push_back(((i * in[1] + j) * in[2] + k) * channels);
      }
    }
  }
}

void register_pooling_kernels(KernelTable& table) {
  table.add("max_pool", make_max);
  table.add("max_pool_grad", make_max_grad);
  table.add("max_pool_select", make_max_select);
  table.add("avg_pool", make_average);
  table.add("avg_pool_grad", make_average_grad);
  table.add("max_pool_with_index", make_max_with_index);
  table.add("max_pool_scatter", make_max_scatter);
}

}  // namespace cornu::cpu

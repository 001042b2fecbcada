// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and the cross-entropies. 16-bit floating-point numbers go through float32, a
// chunk of rows at a time.
#include "framework/backends/cpu/kernels/reduction/softmax.h"

#include <algorithm>
#include <limits>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/core/threads.h"
#include "framework/graph/refusals.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kSoftmaxGrain = 8192;  // elements per thread, at least
constexpr int64_t kSoftmaxChunk = 4096;  // elements that are converted together
constexpr int64_t kSoftmaxTile = 256;    // columns that are processed together

// The dtype of the computation, and the conversions to and from it.
struct Precision {
  DType stored;
  DType computed;
  TileFn widen = nullptr;
  TileFn narrow = nullptr;

  explicit Precision(DType dtype) : stored(dtype), computed(dtype) {
    if (dtype != DType::Float16 && dtype != DType::BFloat16) return;
    computed = DType::Float32;
    widen = cast_tile(stored, computed);
    narrow = cast_tile(computed, stored);
  }
  size_t stored_bytes() const { return size_of(stored); }
  size_t bytes() const { return size_of(computed); }
};

struct Rows {
  int64_t rows;
  int64_t count;  // elements of a row

  explicit Rows(const Shape& shape)
      : rows(shape.slice(0, shape.rank() - 1).num_elements()), count(shape.back()) {}
  int64_t grain() const {
    return std::max<int64_t>(1, kSoftmaxGrain / std::max<int64_t>(1, count));
  }
  // Rows that are converted together.
  int64_t chunk() const {
    return std::max<int64_t>(1, kSoftmaxChunk / std::max<int64_t>(1, count));
  }
};

// Runs work(first row, number of rows) on all threads, a chunk at a time if rows are converted.
template <class F>
void for_rows(const Rows& rows, const Precision& precision, F work) {
  parallel_for(rows.rows, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t step = precision.widen ? rows.chunk() : end - begin;
    for (int64_t row = begin; row < end; row += step) work(row, std::min(step, end - row));
  });
}

const std::byte* element(const void* data, int64_t index, size_t bytes) {
  return static_cast<const std::byte*>(data) + static_cast<size_t>(index) * bytes;
}
std::byte* element(void* data, int64_t index, size_t bytes) {
  return static_cast<std::byte*>(data) + static_cast<size_t>(index) * bytes;
}

// ---- softmax, log_softmax ----

std::unique_ptr<Kernel> softmax_of_rows(const Rows& rows, const Precision& precision,
                                        SoftmaxFunctions::Rows function) {
  return make_kernel([=](const KernelArgs& args) {
    for_rows(rows, precision, [&](int64_t first, int64_t many) {
      const int64_t offset = first * rows.count;
      const std::byte* in = element(args.in[0], offset, precision.stored_bytes());
      std::byte* out = element(args.out[0], offset, precision.stored_bytes());
      const auto count = static_cast<size_t>(rows.count);
      if (!precision.widen) return function(in, size_t(many), count, out);
      std::byte* memory = thread_memory(size_t(rows.chunk()) * count * precision.bytes());
      convert(precision.widen, in, memory, many * rows.count);
      function(memory, size_t(many), count, memory);
      convert(precision.narrow, memory, out, many * rows.count);
    });
  });
}

// Along any axis but the last: a tile of columns at a time.
std::unique_ptr<Kernel> softmax_of_columns(const Shape& shape, int64_t axis,
                                           const Precision& precision,
                                           SoftmaxFunctions::Columns function) {
  const int64_t count = shape[axis];
  const int64_t inner = shape.slice(axis + 1).num_elements();
  const int64_t tile = std::min(inner, kSoftmaxTile);
  const int64_t tiles = (inner + tile - 1) / tile;
  const int64_t items = shape.slice(0, axis).num_elements() * tiles;
  const int64_t grain = std::max<int64_t>(1, kSoftmaxGrain / (count * tile));
  return make_kernel([=](const KernelArgs& args) {
    parallel_for(items, grain, [&](int64_t begin, int64_t end) {
      const int64_t work_elements = 2 * tile + (precision.widen ? count * tile : 0);
      std::byte* const work = thread_memory(size_t(work_elements) * precision.bytes());
      std::byte* const columns = element(work, 2 * tile, precision.bytes());
      for (int64_t item = begin; item < end; ++item) {
        const int64_t column = item % tiles * tile;
        const int64_t width = std::min(tile, inner - column);
        const int64_t offset = item / tiles * count * inner + column;
        const std::byte* in = element(args.in[0], offset, precision.stored_bytes());
        std::byte* out = element(args.out[0], offset, precision.stored_bytes());
        if (!precision.widen) {
          function(in, size_t(count), size_t(inner), size_t(width), work, out);
          continue;
        }
        for (int64_t i = 0; i < count; ++i) {
          convert(precision.widen, element(in, i * inner, precision.stored_bytes()),
                  element(columns, i * width, precision.bytes()), width);
        }
        function(columns, size_t(count), size_t(width), size_t(width), work, columns);
        for (int64_t i = 0; i < count; ++i) {
          convert(precision.narrow, element(columns, i * width, precision.bytes()),
                  element(out, i * inner, precision.stored_bytes()), width);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_softmax(const KernelSpec& spec, bool log) {
  const auto& [dtype, shape] = spec.inputs[0];
  if (!is_floating(dtype)) return nullptr;
  if (shape.num_elements() == 0) return make_kernel([](const KernelArgs&) {});
  const Precision precision(dtype);
  const SoftmaxFunctions functions = softmax_functions(precision.computed);
  const int64_t axis = spec.attributes.get_int("axis");
  if (shape.slice(axis + 1).num_elements() == 1) {
    return softmax_of_rows(Rows(shape.slice(0, axis + 1)), precision,
                           log ? functions.log_softmax : functions.softmax);
  }
  return softmax_of_columns(shape, axis, precision,
                            log ? functions.log_softmax_columns : functions.softmax_columns);
}

// ---- cross-entropies ----

std::unique_ptr<Kernel> make_cross_entropy(const KernelSpec& spec) {
  if (!is_floating(spec.inputs[0].dtype)) return nullptr;
  const Rows rows(spec.inputs[0].shape);
  const Precision precision(spec.inputs[0].dtype);
  const auto function = softmax_functions(precision.computed).cross_entropy;
  return make_kernel([=](const KernelArgs& args) {
    for_rows(rows, precision, [&](int64_t first, int64_t many) {
      const size_t stored = precision.stored_bytes();
      const int64_t offset = first * rows.count;
      const auto count = static_cast<size_t>(rows.count);
      const std::byte* logits = element(args.in[0], offset, stored);
      const std::byte* targets = element(args.in[1], offset, stored);
      std::byte* losses = element(args.out[0], first, stored);
      std::byte* probabilities = element(args.out[1], offset, stored);
      if (!precision.widen) {
        return function(logits, targets, size_t(many), count, losses, probabilities);
      }
      const int64_t size = many * rows.count;
      std::byte* memory = thread_memory(size_t(2 * size + many) * precision.bytes());
      std::byte* wide_targets = element(memory, size, precision.bytes());
      std::byte* wide_losses = element(wide_targets, size, precision.bytes());
      convert(precision.widen, logits, memory, size);
      convert(precision.widen, targets, wide_targets, size);
      function(memory, wide_targets, size_t(many), count, wide_losses, memory);
      convert(precision.narrow, wide_losses, losses, many);
      convert(precision.narrow, memory, probabilities, size);
    });
  });
}

// Converts labels to int64, ignored ones to -1. Throws for a label that isn't a class.
template <class Label>
void read_labels(const void* data, const Rows& rows, int64_t ignored, const Shape& shape,
                 int64_t* out) {
  const auto* labels = static_cast<const Label*>(data);
  for (int64_t i = 0; i < rows.rows; ++i) {
    const Label label = labels[i];
    // Unsigned labels beyond int64 become negative.
    const auto value = static_cast<int64_t>(label);
    const bool is_ignored = value == ignored && ignored != std::numeric_limits<int64_t>::min();
    const bool is_class = value >= 0 && value < rows.count;
    if (!is_ignored && !is_class) refuse_label(fmt::to_string(label), i, shape);
    out[i] = is_ignored ? -1 : value;
  }
}

using LabelReader = void (*)(const void*, const Rows&, int64_t, const Shape&, int64_t*);

LabelReader label_reader(DType dtype) {
  return dispatch_dtype(dtype, []<class T>(T) -> LabelReader {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return read_labels<T>;
    return nullptr;
  });
}

std::unique_ptr<Kernel> make_sparse_cross_entropy(const KernelSpec& spec) {
  const LabelReader read = label_reader(spec.inputs[1].dtype);
  if (!is_floating(spec.inputs[0].dtype) || !read) return nullptr;
  const Shape shape = spec.inputs[0].shape;
  const Rows rows(shape);
  const Precision precision(spec.inputs[0].dtype);
  const int64_t ignored = spec.attributes.get_int("ignore_class");
  const auto function = softmax_functions(precision.computed).sparse_cross_entropy;
  const auto run = [=](const KernelArgs& args) {
    auto* labels = static_cast<int64_t*>(args.scratch);
    read(args.in[1], rows, ignored, shape, labels);
    for_rows(rows, precision, [&](int64_t first, int64_t many) {
      const size_t stored = precision.stored_bytes();
      const int64_t offset = first * rows.count;
      const auto count = static_cast<size_t>(rows.count);
      const std::byte* logits = element(args.in[0], offset, stored);
      std::byte* losses = element(args.out[0], first, stored);
      std::byte* probabilities = element(args.out[1], offset, stored);
      if (!precision.widen) {
        return function(logits, labels + first, size_t(many), count, losses, probabilities);
      }
      const int64_t size = many * rows.count;
      std::byte* memory = thread_memory(size_t(size + many) * precision.bytes());
      std::byte* wide_losses = element(memory, size, precision.bytes());
      convert(precision.widen, logits, memory, size);
      function(memory, labels + first, size_t(many), count, wide_losses, memory);
      convert(precision.narrow, wide_losses, losses, many);
      convert(precision.narrow, memory, probabilities, size);
    });
  };
  return make_kernel(run, size_t(rows.rows) * sizeof(int64_t));
}

}  // namespace

void register_softmax_kernels(KernelTable& table) {
  const Aliases in_place = {{0, 0}};
  table.add(
      "softmax", [](const KernelSpec& spec) { return make_softmax(spec, false); }, in_place);
  table.add(
      "log_softmax", [](const KernelSpec& spec) { return make_softmax(spec, true); }, in_place);
  table.add("softmax_cross_entropy", make_cross_entropy, {{0, 1}, {1, 1}});
  table.add("sparse_softmax_cross_entropy", make_sparse_cross_entropy, {{0, 1}});
}

}  // namespace cornu::cpu

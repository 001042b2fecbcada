// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax, and the cross-entropies that are computed with them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cornu/backends/cpu/kernel.h"
#include "cornu/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kParallel = 8192;  // elements that are worth a second thread

struct Rows {
  int64_t outer;
  int64_t classes;
  int64_t inner;  // distance between the classes of a row
  int64_t count() const { return outer * inner; }
  int64_t start(int64_t row) const { return row / inner * classes * inner + row % inner; }
  int64_t grain() const { return std::max<int64_t>(1, kParallel / std::max<int64_t>(1, classes)); }
};

Rows rows_of(const Shape& shape, int64_t axis) {
  return {shape.slice(0, axis).num_elements(), shape[axis], shape.slice(axis + 1).num_elements()};
}

// The largest element of a row, and the log of its sum of exponentials relative to that.
template <class T>
struct LogSum {
  T peak;
  T log_sum;
};

template <class T>
LogSum<T> log_sum(const T* x, const Rows& rows) {
  T peak = -std::numeric_limits<T>::infinity();
  for (int64_t k = 0; k < rows.classes; ++k) peak = std::max(peak, x[k * rows.inner]);
  if (!std::isfinite(peak)) peak = 0;
  T sum = 0;
  for (int64_t k = 0; k < rows.classes; ++k) sum += std::exp(x[k * rows.inner] - peak);
  return {peak, std::log(sum)};
}

template <class T>
void softmax_row(const T* x, T* out, const Rows& rows) {
  const LogSum<T> total = log_sum(x, rows);
  const T scale = std::exp(-total.log_sum);
  for (int64_t k = 0; k < rows.classes; ++k) {
    out[k * rows.inner] = std::exp(x[k * rows.inner] - total.peak) * scale;
  }
}

template <class T>
void log_softmax_row(const T* x, T* out, const Rows& rows) {
  const LogSum<T> total = log_sum(x, rows);
  for (int64_t k = 0; k < rows.classes; ++k) {
    out[k * rows.inner] = x[k * rows.inner] - total.peak - total.log_sum;
  }
}

// Calls `make(T{})` for float32 and float64.
template <class F>
std::unique_ptr<Kernel> for_floats(DType dtype, F make) {
  if (dtype == DType::Float32) return make(float{});
  if (dtype == DType::Float64) return make(double{});
  return nullptr;
}

std::unique_ptr<Kernel> make_softmax(const KernelSpec& spec, bool log) {
  const Rows rows = rows_of(spec.inputs[0].shape, spec.attributes.get_int("axis"));
  return for_floats(spec.inputs[0].dtype, [&](auto t) {
    using T = decltype(t);
    return make_kernel([rows, log](const KernelArgs& args) {
      const T* x = static_cast<const T*>(args.in[0]);
      T* out = static_cast<T*>(args.out[0]);
      parallel_for(rows.count(), rows.grain(), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t at = rows.start(row);
          log ? log_softmax_row(x + at, out + at, rows) : softmax_row(x + at, out + at, rows);
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_cross_entropy(const KernelSpec& spec) {
  const Rows rows = rows_of(spec.inputs[0].shape, spec.inputs[0].shape.rank() - 1);
  return for_floats(spec.inputs[0].dtype, [&](auto t) {
    using T = decltype(t);
    return make_kernel([rows](const KernelArgs& args) {
      const T* x = static_cast<const T*>(args.in[0]);
      const T* targets = static_cast<const T*>(args.in[1]);
      T* losses = static_cast<T*>(args.out[0]);
      T* probabilities = static_cast<T*>(args.out[1]);
      parallel_for(rows.count(), rows.grain(), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t at = rows.start(row);
          const LogSum<T> total = log_sum(x + at, rows);
          T loss = 0;
          for (int64_t k = 0; k < rows.classes; ++k) {
            const T target = targets[at + k];
            if (target != 0) loss -= target * (x[at + k] - total.peak - total.log_sum);
          }
          softmax_row(x + at, probabilities + at, rows);
          losses[row] = loss;
        }
      });
    });
  });
}

template <class T, class L>
void sparse_rows(const Rows& rows, const Shape& logits, int64_t ignored, const KernelArgs& args) {
  const T* x = static_cast<const T*>(args.in[0]);
  const L* labels = static_cast<const L*>(args.in[1]);
  for (int64_t row = 0; row < rows.count(); ++row) {
    const auto label = static_cast<int64_t>(labels[row]);
    check<InvalidArgument>((label >= 0 && label < rows.classes) || label == ignored,
                           "sparse_softmax_cross_entropy: label {} is outside of [0, {}), the "
                           "classes of logits of shape {}. Check the labels, or give the last layer "
                           "more units.",
                           label, rows.classes, logits);
  }
  T* losses = static_cast<T*>(args.out[0]);
  T* probabilities = static_cast<T*>(args.out[1]);
  parallel_for(rows.count(), rows.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = rows.start(row);
      const auto label = static_cast<int64_t>(labels[row]);
      const LogSum<T> total = log_sum(x + at, rows);
      losses[row] = label == ignored ? T(0) : total.peak + total.log_sum - x[at + label];
      softmax_row(x + at, probabilities + at, rows);
    }
  });
}

std::unique_ptr<Kernel> make_sparse_cross_entropy(const KernelSpec& spec) {
  const Shape logits = spec.inputs[0].shape;
  const Rows rows = rows_of(logits, logits.rank() - 1);
  const int64_t ignored = spec.attributes.get_int("ignore_class");
  const DType label_dtype = spec.inputs[1].dtype;
  return for_floats(spec.inputs[0].dtype, [&](auto t) {
    using T = decltype(t);
    return make_kernel([=](const KernelArgs& args) {
      dispatch_dtype(label_dtype, [&](auto l) {
        if constexpr (std::is_integral_v<decltype(l)>) {
          sparse_rows<T, decltype(l)>(rows, logits, ignored, args);
        }
      });
    });
  });
}

}  // namespace

void register_softmax_kernels(KernelTable& table) {
  table.add("softmax", [](const KernelSpec& spec) { return make_softmax(spec, false); });
  table.add("log_softmax", [](const KernelSpec& spec) { return make_softmax(spec, true); });
  table.add("softmax_cross_entropy", make_cross_entropy);
  table.add("sparse_softmax_cross_entropy", make_sparse_cross_entropy);
}

}  // namespace cornu::cpu

// SPDX-License-Identifier: Apache-2.0
// Kernels that read or write by index.
#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/shape/element.h"
#include "framework/backends/cpu/kernels/shape/index.h"
#include "framework/backends/cpu/kernels/through_float32.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kDividedRowBytes = 4096;  // rows that are divided among threads, at least
constexpr int64_t kSharedRowBytes = 128;    // rows of an axis that is divided, at least

// Copies rows of a fixed length, without a call per row.
template <size_t kBytes>
void copy_rows(const std::byte* from, std::byte* to, const int64_t* index, int64_t count, size_t) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kBytes, from + static_cast<size_t>(index[i]) * kBytes,
                kBytes);
  }
}
void copy_long_rows(const std::byte* from, std::byte* to, const int64_t* index, int64_t count,
                    size_t bytes) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(index[i]) * bytes,
                bytes);
  }
}

auto row_copier(size_t bytes) {
  switch (bytes) {
    case 1:
      return copy_rows<1>;
    case 2:
      return copy_rows<2>;
    case 4:
      return copy_rows<4>;
    case 8:
      return copy_rows<8>;
    case 12:  // pixels
      return copy_rows<12>;
    case 16:
      return copy_rows<16>;
    default:
      return copy_long_rows;
  }
}

std::unique_ptr<Kernel> make_gather(const KernelSpec& spec) {
  const AxisView view(spec.inputs[0].shape, spec.attributes.get_int("axis"));
  const size_t row = static_cast<size_t>(view.inner) * size_of(spec.inputs[0].dtype);
  const IndexReader reader(spec, spec.inputs[1], view);
  auto run = [view, row, reader, copy = row_copier(row)](const KernelArgs& args) {
    const int64_t* index = reader.read(args.in[1], args.scratch);
    const int64_t count = reader.count();
    if (row == 0) return;
    const int64_t grain = kGatherGrainBytes / static_cast<int64_t>(row);
    parallel_for(view.outer * count, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t outer = begin / count;
        const int64_t first = begin % count;
        const int64_t rows = std::min(end - begin, count - first);
        copy(static_cast<const std::byte*>(args.in[0]) +
                 static_cast<size_t>(outer * view.size) * row,
             static_cast<std::byte*>(args.out[0]) + static_cast<size_t>(begin) * row, index + first,
             rows, row);
        begin += rows;
      }
    });
  };
  return make_kernel(run, reader.bytes());
}

// Adds in the order of the indices. Threads divide the axes before the indexed one; otherwise rows,
// if they are long; otherwise the indexed axis: each thread reads all indices, and adds to its own
// rows. Adding short rows is faster than finding out which thread owns them.
template <class T>
class ScatterAdd {
 public:
  explicit ScatterAdd(const KernelSpec& spec)
      : view_(spec.outputs[0].shape, spec.attributes.get_int("axis")),
        reader_(spec, spec.inputs[0], view_) {}
  size_t bytes() const { return reader_.bytes(); }

  void operator()(const KernelArgs& args) const {
    const int64_t* index = reader_.read(args.in[0], args.scratch);
    const T* updates = static_cast<const T*>(args.in[1]);
    T* out = static_cast<T*>(args.out[0]);
    const int64_t block = view_.size * view_.inner;
    constexpr auto kElement = static_cast<int64_t>(sizeof(T));
    if (view_.outer > 1) {
      parallel_for(view_.outer, 1, [&](int64_t begin, int64_t end) {
        for (int64_t outer = begin; outer < end; ++outer) {
          add(index, updates + outer * reader_.count() * view_.inner, out + outer * block, 0,
              view_.inner);
        }
      });
    } else if (view_.inner * kElement >= kDividedRowBytes) {
      parallel_for(view_.inner, kDividedRowBytes / 2 / kElement,
                   [&](int64_t begin, int64_t end) { add(index, updates, out, begin, end); });
    } else if (view_.outer == 1) {
      const int64_t bytes = (block + reader_.count() * view_.inner) * kElement;
      const int64_t grain = view_.inner * kElement < kSharedRowBytes
                                ? view_.size
                                : view_.size * kGatherGrainBytes / std::max<int64_t>(1, bytes);
      parallel_for(view_.size, grain, [&](int64_t begin, int64_t end) {
        add_to_rows(index, updates, out, begin, end);
      });
    }
  }

 private:
  // Adds to the columns [first, last) of all rows.
  void add(const int64_t* index, const T* updates, T* out, int64_t first, int64_t last) const {
    for (int64_t row = 0; row < view_.size; ++row) {
      std::fill(out + row * view_.inner + first, out + row * view_.inner + last, T{});
    }
    for (int64_t i = 0; i < reader_.count(); ++i) {
      add_row(updates + i * view_.inner + first, out + index[i] * view_.inner + first,
              last - first);
    }
  }
  void add_to_rows(const int64_t* index, const T* updates, T* out, int64_t first,
                   int64_t last) const {
    const int64_t inner = view_.inner;
    std::fill(out + first * inner, out + last * inner, T{});
    for (int64_t i = 0; i < reader_.count(); ++i) {
      if (index[i] < first || index[i] >= last) continue;
      if (inner == 1) {
        out[index[i]] = static_cast<T>(Wrapping<T>(out[index[i]]) + Wrapping<T>(updates[i]));
      } else {
        add_row(updates + i * inner, out + index[i] * inner, inner);
      }
    }
  }

  AxisView view_;
  IndexReader reader_;
};

template <class T>
std::unique_ptr<Kernel> make_scatter_add_of(const KernelSpec& spec) {
  const ScatterAdd<T> scatter(spec);
  return make_kernel(scatter, scatter.bytes());
}

template <class T>
std::unique_ptr<Kernel> make_take_along_axis_of(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.get_int("axis");
  const AxisView from(spec.inputs[0].shape, axis);
  const AxisView to(spec.outputs[0].shape, axis);
  const IndexReader reader(spec, spec.inputs[1], from);
  return make_kernel([from, to, reader](const KernelArgs& args) {
    const T* x = static_cast<const T*>(args.in[0]);
    T* out = static_cast<T*>(args.out[0]);
    const int64_t block = to.size * to.inner;
    reader.visit(args.in[1], [&](const auto* index) {
      parallel_for(to.outer, kGatherGrainBytes / std::max<int64_t>(1, block),
                   [&](int64_t begin, int64_t end) {
                     int64_t i = begin * block;
                     for (int64_t outer = begin; outer < end; ++outer) {
                       const T* rows = x + outer * from.size * from.inner;
                       if (to.inner == 1) {
                         for (; i < (outer + 1) * block; ++i) out[i] = rows[reader.place(index[i])];
                         continue;
                       }
                       for (int64_t row = 0; row < to.size; ++row) {
                         for (int64_t j = 0; j < to.inner; ++j, ++i) {
                           out[i] = rows[reader.place(index[i]) * from.inner + j];
                         }
                       }
                     }
                   });
    });
  });
}

template <class T>
std::unique_ptr<Kernel> make_put_along_axis_add_of(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.get_int("axis");
  const AxisView from(spec.inputs[0].shape, axis);
  const AxisView to(spec.outputs[0].shape, axis);
  const IndexReader reader(spec, spec.inputs[0], to);
  auto run = [from, to, reader](const KernelArgs& args) {
    const int64_t* index = reader.read(args.in[0], args.scratch);
    const T* updates = static_cast<const T*>(args.in[1]);
    T* out = static_cast<T*>(args.out[0]);
    const int64_t block = to.size * to.inner;
    parallel_for(from.outer, kGatherGrainBytes / std::max<int64_t>(1, block),
                 [&](int64_t begin, int64_t end) {
                   std::fill(out + begin * block, out + end * block, T{});
                   int64_t i = begin * from.size * from.inner;
                   for (int64_t outer = begin; outer < end; ++outer) {
                     for (int64_t row = 0; row < from.size; ++row) {
                       for (int64_t j = 0; j < to.inner; ++j, ++i) {
                         T& sum = out[outer * block + index[i] * to.inner + j];
                         sum = static_cast<T>(Wrapping<T>(sum) + Wrapping<T>(updates[i]));
                       }
                     }
                   }
                 });
  };
  return make_kernel(run, reader.bytes());
}

// The kernel from `make` for an arithmetic dtype; 16-bit floats go through float32.
template <class Make>
std::unique_ptr<Kernel> by_number(const KernelSpec& spec, DType dtype, Make make,
                                  const KernelFactory& self) {
  return dispatch_dtype(dtype, [&]<class T>(T tag) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool>) {
      return nullptr;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return make(tag);
    } else {
      return through_float32(spec, self);
    }
  });
}

std::unique_ptr<Kernel> make_scatter_add(const KernelSpec& spec) {
  return by_number(
      spec, spec.outputs[0].dtype, [&]<class T>(T) { return make_scatter_add_of<T>(spec); },
      make_scatter_add);
}

std::unique_ptr<Kernel> make_take_along_axis(const KernelSpec& spec) {
  return with_element(size_of(spec.inputs[0].dtype),
                      [&]<class T>(T) { return make_take_along_axis_of<T>(spec); });
}

std::unique_ptr<Kernel> make_put_along_axis_add(const KernelSpec& spec) {
  return by_number(
      spec, spec.outputs[0].dtype, [&]<class T>(T) { return make_put_along_axis_add_of<T>(spec); },
      make_put_along_axis_add);
}

template <class T>
T number(int64_t value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

std::unique_ptr<Kernel> make_one_hot(const KernelSpec& spec) {
  const TensorType& out = spec.outputs[0];
  const int64_t depth = spec.attributes.get_int("depth");
  const int64_t count = spec.inputs[0].shape.num_elements();
  return dispatch_dtype(out.dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    return dispatch_dtype(spec.inputs[0].dtype, [&]<class I>(I) -> std::unique_ptr<Kernel> {
      if constexpr (std::is_integral_v<I>) {
        return make_kernel([depth, count, bytes = out.bytes()](const KernelArgs& args) {
          if (bytes == 0) return;
          std::memset(args.out[0], 0, bytes);
          const I* index = static_cast<const I*>(args.in[0]);
          T* rows = static_cast<T*>(args.out[0]);
          for (int64_t i = 0; i < count; ++i) {
            const auto hot = static_cast<int64_t>(index[i]);
            if (hot >= 0 && hot < depth) rows[i * depth + hot] = number<T>(1);
          }
        });
      } else {
        return nullptr;
      }
    });
  });
}

std::unique_ptr<Kernel> make_iota(const KernelSpec& spec) {
  const AxisView view(spec.outputs[0].shape, spec.attributes.get_int("axis"));
  return dispatch_dtype(spec.outputs[0].dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    return make_kernel([view](const KernelArgs& args) {
      T* out = static_cast<T*>(args.out[0]);
      for (int64_t outer = 0; outer < view.outer; ++outer) {
        for (int64_t i = 0; i < view.size; ++i, out += view.inner) {
          std::fill_n(out, view.inner, number<T>(i));
        }
      }
    });
  });
}

}  // namespace

void register_index_kernels(KernelTable& table) {
  table.add("gather", make_gather);
  table.add("gather_rows", make_gather);
  table.add("scatter_add", make_scatter_add);
  table.add("take_along_axis", make_take_along_axis);
  table.add("put_along_axis_add", make_put_along_axis_add);
  table.add("one_hot", make_one_hot);
  table.add("iota", make_iota);
}

}  // namespace cornu::cpu

// SPDX-License-Identifier: Apache-2.0
// Kernels that read or write by index.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/backends/cpu/kernels/wrapping.h"
#include "framework/core/threads.h"
#include "framework/graph/refusals.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kGatherGrainBytes = 16384;  // per thread, at least

// An array as [outer, size, inner], around one of its axes.
struct AxisView {
  AxisView(const Shape& whole, int64_t axis_index)
      : shape(whole),
        axis(axis_index),
        outer(whole.slice(0, axis_index).num_elements()),
        size(whole[axis_index]),
        inner(whole.slice(axis_index + 1).num_elements()) {}

  Shape shape;
  int64_t axis;
  int64_t outer;
  int64_t size;
  int64_t inner;
};

// Converts indices of any integer dtype to int64 and checks them against the axis; negative ones
// count from its end.
class IndexReader {
 public:
  IndexReader(const KernelSpec& spec, const TensorType& indices, AxisView view)
      : op_(spec.op.name == "gather" ? "take" : spec.op.name),
        dtype_(indices.dtype),
        count_(indices.shape.num_elements()),
        view_(std::move(view)) {}

  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(int64_t); }
  int64_t count() const { return count_; }

  const int64_t* read(const void* indices, void* scratch) const {
    auto* out = static_cast<int64_t*>(scratch);
    dispatch_dtype(dtype_, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        const T* values = static_cast<const T*>(indices);
        const auto size = static_cast<uint64_t>(view_.size);
        for (int64_t i = 0; i < count_; ++i) {
          const auto index = static_cast<int64_t>(values[i]);
          out[i] = std::is_signed_v<T> && index < 0 ? index + view_.size : index;
          if (static_cast<uint64_t>(out[i]) >= size) [[unlikely]]
            fail(fmt::to_string(values[i]));
        }
      }
    });
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& index) const {
    refuse_index(op_, index, view_.axis, view_.shape);
  }

  std::string op_;
  DType dtype_;
  int64_t count_;
  AxisView view_;
};

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

template <class T>
void add_row(const T* from, T* to, int64_t count) {
  using Row = Eigen::Array<Wrapping<T>, Eigen::Dynamic, 1>;
  Eigen::Map<Row>(reinterpret_cast<Wrapping<T>*>(to), count) +=
      Eigen::Map<const Row>(reinterpret_cast<const Wrapping<T>*>(from), count);
}

// Adds in the order of the indices: threads divide the axes after the indexed one, or those before
// it.
template <class T>
std::unique_ptr<Kernel> make_scatter_add_of(const KernelSpec& spec) {
  const AxisView view(spec.outputs[0].shape, spec.attributes.get_int("axis"));
  const IndexReader reader(spec, spec.inputs[0], view);
  auto run = [view, reader, bytes = spec.outputs[0].bytes()](const KernelArgs& args) {
    const int64_t* index = reader.read(args.in[0], args.scratch);
    const T* updates = static_cast<const T*>(args.in[1]);
    T* out = static_cast<T*>(args.out[0]);
    if (bytes > 0) std::memset(out, 0, bytes);
    const int64_t count = reader.count();
    auto add = [&](int64_t outer, int64_t first, int64_t last) {
      for (int64_t i = 0; i < count; ++i) {
        const T* from = updates + (outer * count + i) * view.inner;
        add_row(from + first, out + (outer * view.size + index[i]) * view.inner + first,
                last - first);
      }
    };
    if (view.outer > 1) {
      parallel_for(view.outer, 1, [&](int64_t begin, int64_t end) {
        for (int64_t outer = begin; outer < end; ++outer) add(outer, 0, view.inner);
      });
    } else if (view.outer == 1) {
      const int64_t grain =
          kGatherGrainBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, count);
      const int64_t line = 64 / static_cast<int64_t>(sizeof(T));
      parallel_for(view.inner, std::max(grain, line),
                   [&](int64_t begin, int64_t end) { add(0, begin, end); });
    }
  };
  return make_kernel(run, reader.bytes());
}

template <class T>
std::unique_ptr<Kernel> make_take_along_axis_of(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.get_int("axis");
  const AxisView from(spec.inputs[0].shape, axis);
  const AxisView to(spec.outputs[0].shape, axis);
  const IndexReader reader(spec, spec.inputs[1], from);
  auto run = [from, to, reader](const KernelArgs& args) {
    const int64_t* index = reader.read(args.in[1], args.scratch);
    const T* x = static_cast<const T*>(args.in[0]);
    T* out = static_cast<T*>(args.out[0]);
    parallel_for(to.outer, kGatherGrainBytes / std::max<int64_t>(1, to.size * to.inner),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin * to.size * to.inner; i < end * to.size * to.inner; ++i) {
                     const int64_t outer = i / (to.size * to.inner);
                     out[i] = x[(outer * from.size + index[i]) * from.inner + i % to.inner];
                   }
                 });
  };
  return make_kernel(run, reader.bytes());
}

template <class T>
std::unique_ptr<Kernel> make_put_along_axis_add_of(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.get_int("axis");
  const AxisView from(spec.inputs[0].shape, axis);
  const AxisView to(spec.outputs[0].shape, axis);
  const IndexReader reader(spec, spec.inputs[0], to);
  auto run = [from, to, reader, bytes = spec.outputs[0].bytes()](const KernelArgs& args) {
    const int64_t* index = reader.read(args.in[0], args.scratch);
    const T* updates = static_cast<const T*>(args.in[1]);
    T* out = static_cast<T*>(args.out[0]);
    if (bytes > 0) std::memset(out, 0, bytes);
    const int64_t block = from.size * from.inner;
    parallel_for(from.outer, kGatherGrainBytes / std::max<int64_t>(1, block),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin * block; i < end * block; ++i) {
                     const int64_t at = (i / block * to.size + index[i]) * to.inner + i % to.inner;
                     add_row(updates + i, out + at, 1);
                   }
                 });
  };
  return make_kernel(run, reader.bytes());
}

// The kernel from `make` for unsigned integers of the element's size.
template <class Make>
std::unique_ptr<Kernel> by_element_size(size_t bytes, Make make) {
  switch (bytes) {
    case 1:
      return make(uint8_t{});
    case 2:
      return make(uint16_t{});
    case 4:
      return make(uint32_t{});
    default:
      return make(uint64_t{});
  }
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
  return by_element_size(size_of(spec.inputs[0].dtype),
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
  table.add("scatter_add", make_scatter_add);
  table.add("take_along_axis", make_take_along_axis);
  table.add("put_along_axis_add", make_put_along_axis_add);
  table.add("one_hot", make_one_hot);
  table.add("iota", make_iota);
}

}  // namespace cornu::cpu

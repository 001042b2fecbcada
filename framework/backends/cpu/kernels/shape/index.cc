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

constexpr int64_t kDividedRowBytes = 4096;   // rows that are divided among threads, at least
constexpr int64_t kSharedRowBytes = 128;     // rows of an axis that is divided, at least
constexpr int64_t kAlongColumns = 64;        // next to an indexed axis, per thread, at least
constexpr int64_t kWriteGrainBytes = 65536;  // per thread, at least

// Copies rows of a fixed length, without a call per row.
template <size_t kBytes, class I>
void copy_rows(const std::byte* from, std::byte* to, const I* index, int64_t count, size_t) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kBytes, from + static_cast<size_t>(index[i]) * kBytes,
                kBytes);
  }
}
template <class I>
void copy_long_rows(const std::byte* from, std::byte* to, const I* index, int64_t count,
                    size_t bytes) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(index[i]) * bytes,
                bytes);
  }
}

template <class I>
auto row_copier(size_t bytes) {
  switch (bytes) {
    case 1:
      return copy_rows<1, I>;
    case 2:
      return copy_rows<2, I>;
    case 4:
      return copy_rows<4, I>;
    case 8:
      return copy_rows<8, I>;
    case 12:  // pixels
      return copy_rows<12, I>;
    case 16:
      return copy_rows<16, I>;
    default:
      return copy_long_rows<I>;
  }
}

std::unique_ptr<Kernel> make_gather(const KernelSpec& spec) {
  const AxisView view(spec.inputs[0].shape, spec.attributes.get_int("axis"));
  const size_t row = static_cast<size_t>(view.inner) * size_of(spec.inputs[0].dtype);
  const IndexReader reader(spec, spec.inputs[1], view);
  return make_kernel([view, row, reader](const KernelArgs& args) {
    const auto indices = reader.check(args.in[1]);
    const int64_t count = reader.count();
    if (row == 0) return;
    // The rows of indices [begin, end), for each outer index of [outer, last).
    const auto take = [&](int64_t outer, int64_t last, int64_t begin, int64_t end) {
      const auto* in = static_cast<const std::byte*>(args.in[0]);
      auto* out = static_cast<std::byte*>(args.out[0]);
      const auto each_part = [&]<class I>(int64_t first, int64_t rows, const I* places) {
        const auto copy = row_copier<I>(row);
        for (int64_t i = outer; i < last; ++i) {
          copy(in + static_cast<size_t>(i * view.size) * row,
               out + static_cast<size_t>(i * count + first) * row, places, rows, row);
        }
      };
      indices.each(begin, end, each_part);
    };
    const int64_t grain = kGatherGrainBytes / static_cast<int64_t>(row);
    parallel_for(view.outer * count, grain, [&](int64_t begin, int64_t end) {
      const int64_t outer = begin / count, last = end / count;
      const int64_t from = begin % count, to = end % count;
      if (outer == last) return take(outer, outer + 1, from, to);
      if (from > 0) take(outer, outer + 1, from, count);
      take(outer + (from > 0 ? 1 : 0), last, 0, count);
      if (to > 0) take(last, last + 1, 0, to);
    });
  });
}

// Zeros in the columns [begin, end) of rows of `width` elements.
template <class T>
void fill_columns(T* rows, int64_t count, int64_t width, int64_t begin, int64_t end) {
  if (end - begin == width) {
    std::fill_n(rows, count * width, T{});
    return;
  }
  for (int64_t row = 0; row < count; ++row) {
    std::fill(rows + row * width + begin, rows + row * width + end, T{});
  }
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

  void operator()(const KernelArgs& args) const {
    const auto index = reader_.check(args.in[0]);
    const T* updates = static_cast<const T*>(args.in[1]);
    T* out = static_cast<T*>(args.out[0]);
    const int64_t block = view_.size * view_.inner;
    constexpr auto kElement = static_cast<int64_t>(sizeof(T));
    if (view_.outer > 1) {
      parallel_for(view_.outer, 1, [&](int64_t begin, int64_t end) {
        add(index, updates, out, {begin, end}, {0, view_.inner});
      });
    } else if (view_.outer == 1 && view_.inner * kElement >= kDividedRowBytes) {
      parallel_for(view_.inner, kDividedRowBytes / 2 / kElement, [&](int64_t begin, int64_t end) {
        add(index, updates, out, {0, 1}, {begin, end});
      });
    } else if (view_.outer == 1) {
      const int64_t bytes = (block + reader_.count() * view_.inner) * kElement;
      const int64_t grain = view_.inner * kElement < kSharedRowBytes
                                ? view_.size
                                : view_.size * kGatherGrainBytes / std::max<int64_t>(1, bytes);
      parallel_for(view_.size, grain, [&](int64_t begin, int64_t end) {
        if (end - begin == view_.size) {
          add(index, updates, out, {0, 1}, {0, view_.inner});
        } else {
          add_to_rows(index, updates, out, begin, end);
        }
      });
    }
  }

 private:
  struct Range {
    int64_t begin, end;
  };

  // Adds to these columns of all rows, for these indices of the outer axes.
  void add(const IndexReader::Indices& index, const T* updates, T* out, Range outer,
           Range columns) const {
    const int64_t inner = view_.inner, width = columns.end - columns.begin;
    const int64_t block = view_.size * inner;
    fill_columns(out + outer.begin * block, (outer.end - outer.begin) * view_.size, inner,
                 columns.begin, columns.end);
    const auto add_part = [&](int64_t first, int64_t count, const auto* places) {
      for (int64_t o = outer.begin; o < outer.end; ++o) {
        const T* from = updates + (o * reader_.count() + first) * inner + columns.begin;
        T* const to = out + o * block + columns.begin;
        if (inner == 1) {
          for (int64_t i = 0; i < count; ++i) to[places[i]] = sum_of(to[places[i]], from[i]);
          continue;
        }
        for (int64_t i = 0; i < count; ++i, from += inner) {
          add_row(from, to + places[i] * inner, width);
        }
      }
    };
    index.each(0, reader_.count(), add_part);
  }
  void add_to_rows(const IndexReader::Indices& index, const T* updates, T* out, int64_t begin,
                   int64_t end) const {
    const int64_t inner = view_.inner;
    std::fill(out + begin * inner, out + end * inner, T{});
    const auto add_part = [&](int64_t first, int64_t count, const auto* places) {
      for (int64_t i = 0; i < count; ++i) {
        if (places[i] < begin || places[i] >= end) continue;
        add_row(updates + (first + i) * inner, out + places[i] * inner, inner);
      }
    };
    index.each(0, reader_.count(), add_part);
  }

  AxisView view_;
  IndexReader reader_;
};

template <class T>
std::unique_ptr<Kernel> make_scatter_add_of(const KernelSpec& spec) {
  return make_kernel(ScatterAdd<T>(spec));
}

// Indices of the shape of an array but for one axis, along which they refer to its elements.
class AlongAxis {
 public:
  // `whole`: the array's shape.
  AlongAxis(const KernelSpec& spec, const Shape& whole, const TensorType& indices)
      : whole_(whole, spec.attributes.get_int("axis")),
        lines_(indices.shape[whole_.axis]),
        reader_(spec, indices, whole_),
        run_(whole_.inner == 1 ? lines_ : whole_.inner),
        runs_(whole_.inner == 1 ? 1 : lines_) {}

  const IndexReader& reader() const { return reader_; }
  int64_t outer() const { return whole_.outer; }
  int64_t inner() const { return whole_.inner; }
  int64_t lines() const { return lines_; }  // for each outer index
  int64_t block() const { return whole_.size * whole_.inner; }

  // Calls visit(i, place) for the indices [begin, end), in order: number i refers to the array's
  // element number `place`.
  template <class Visit>
  void each(const IndexReader::Indices& indices, int64_t begin, int64_t end, Visit visit) const {
    if (begin == end) return;
    int64_t at = begin % run_;  // in a run of indices whose places have a common start
    int64_t run = begin / run_ % runs_;
    int64_t start = begin / run_ / runs_ * block();
    indices.each(begin, end, [&](int64_t first, int64_t count, const auto* places) {
      for (int64_t done = 0; done < count;) {
        const int64_t stop = std::min(count, done + run_ - at);
        if (whole_.inner == 1) {
          for (int64_t i = done; i < stop; ++i) visit(first + i, start + places[i]);
        } else {
          for (int64_t i = done, column = start + at; i < stop; ++i, ++column) {
            visit(first + i, column + places[i] * whole_.inner);
          }
        }
        at += stop - done;
        done = stop;
        if (at < run_) continue;
        at = 0;
        if (++run < runs_) continue;
        run = 0;
        start += block();
      }
    });
  }

  // The same for the indices in columns [begin, end) of the lines [first, last).
  template <class Visit>
  void each_column(const IndexReader::Indices& indices, int64_t first, int64_t last, int64_t begin,
                   int64_t end, Visit visit) const {
    if (end - begin == inner()) return each(indices, first * inner(), last * inner(), visit);
    for (int64_t line = first; line < last; ++line) {
      each(indices, line * inner() + begin, line * inner() + end, visit);
    }
  }

 private:
  AxisView whole_;
  int64_t lines_;
  IndexReader reader_;
  int64_t run_;   // elements of a run
  int64_t runs_;  // for each outer index
};

template <class T>
std::unique_ptr<Kernel> make_take_along_axis_of(const KernelSpec& spec) {
  const AlongAxis along(spec, spec.inputs[0].shape, spec.inputs[1]);
  return make_kernel([along](const KernelArgs& args) {
    const auto indices = along.reader().check(args.in[1]);
    const T* x = static_cast<const T*>(args.in[0]);
    T* out = static_cast<T*>(args.out[0]);
    constexpr int64_t kGrain = kGatherGrainBytes / static_cast<int64_t>(sizeof(T));
    parallel_for(along.reader().count(), kGrain, [&](int64_t begin, int64_t end) {
      along.each(indices, begin, end, [&](int64_t i, int64_t place) { out[i] = x[place]; });
    });
  });
}

// Adds in the order of the indices along the axis. Threads divide the other axes.
template <class T>
std::unique_ptr<Kernel> make_put_along_axis_add_of(const KernelSpec& spec) {
  const AlongAxis along(spec, spec.outputs[0].shape, spec.inputs[0]);
  return make_kernel([along](const KernelArgs& args) {
    const auto indices = along.reader().check(args.in[0]);
    const T* updates = static_cast<const T*>(args.in[1]);
    T* out = static_cast<T*>(args.out[0]);
    if (along.block() == 0) return;
    const int64_t inner = along.inner(), lines = along.lines();
    const int64_t parts = (inner + kAlongColumns - 1) / kAlongColumns;
    const int64_t grain =
        kGatherGrainBytes / std::max<int64_t>(1, lines * std::min(inner, kAlongColumns));
    parallel_for(along.outer() * parts, grain, [&](int64_t first, int64_t last) {
      while (first < last) {
        const int64_t outer = first / parts, stop = std::min(last, (outer + 1) * parts);
        const int64_t begin = first % parts * kAlongColumns;
        const int64_t end = std::min((stop - outer * parts) * kAlongColumns, inner);
        fill_columns(out + outer * along.block(), along.block() / inner, inner, begin, end);
        along.each_column(
            indices, outer * lines, (outer + 1) * lines, begin, end,
            [&](int64_t i, int64_t place) { out[place] = sum_of(out[place], updates[i]); });
        first = stop;
      }
    });
  });
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
        return make_kernel([depth, count](const KernelArgs& args) {
          const I* index = static_cast<const I*>(args.in[0]);
          T* rows = static_cast<T*>(args.out[0]);
          const int64_t grain = kWriteGrainBytes / static_cast<int64_t>(sizeof(T));
          parallel_for(count, grain / std::max<int64_t>(1, depth), [&](int64_t begin, int64_t end) {
            std::fill(rows + begin * depth, rows + end * depth, T{});
            for (int64_t i = begin; i < end; ++i) {
              const auto hot = static_cast<int64_t>(index[i]);
              if (hot >= 0 && hot < depth) rows[i * depth + hot] = number<T>(1);
            }
          });
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
      const int64_t row = view.inner * static_cast<int64_t>(sizeof(T));
      const int64_t grain = kWriteGrainBytes / std::max<int64_t>(1, row);
      parallel_for(view.outer * view.size, grain, [&](int64_t begin, int64_t end) {
        T* out = static_cast<T*>(args.out[0]) + begin * view.inner;
        for (int64_t at = begin % view.size; begin < end; begin += view.size - at, at = 0) {
          const int64_t stop = std::min(view.size, at + end - begin);
          if (view.inner == 1) {
            for (int64_t i = at; i < stop; ++i) *out++ = number<T>(i);
          } else {
            for (int64_t i = at; i < stop; ++i) out = std::fill_n(out, view.inner, number<T>(i));
          }
        }
      });
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
  table.add("searchsorted", make_searchsorted);
}

}  // namespace cornu::cpu

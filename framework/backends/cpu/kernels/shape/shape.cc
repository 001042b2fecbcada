// SPDX-License-Identifier: Apache-2.0
// Kernels that only move elements.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/shape/copy.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kFillGrain = 16384;     // elements
constexpr int64_t kJoinedBytes = 262144;  // of a concatenation's result, in a block
constexpr int64_t kLongRowBytes = 1'048'576;

// Zeros for an empty shape, whose other sizes may have a product beyond 64 bits.
std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t step = shape.num_elements() == 0 ? 0 : 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[static_cast<int64_t>(i)];
  }
  return strides;
}

// The axes of a copy of `shape` with these strides.
std::vector<CopyAxis> copy_axes(const Shape& shape, const std::vector<int64_t>& from,
                                const std::vector<int64_t>& to) {
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    axes.push_back({shape[static_cast<int64_t>(i)], from[i], to[i]});
  }
  return axes;
}

std::unique_ptr<Kernel> make_copy(const KernelSpec& spec, const std::vector<CopyAxis>& axes,
                                  int64_t from_offset = 0) {
  const StridedCopy copy(size_of(spec.outputs[0].dtype), axes, from_offset);
  return make_kernel([copy](const KernelArgs& args) { copy.run(args.in[0], args.out[0]); });
}

std::unique_ptr<Kernel> make_reshape(const KernelSpec& spec) {
  return make_kernel([bytes = spec.outputs[0].bytes()](const KernelArgs& args) {
    if (args.in[0] != args.out[0] && bytes > 0) std::memcpy(args.out[0], args.in[0], bytes);
  });
}

std::unique_ptr<Kernel> make_transpose(const KernelSpec& spec) {
  const Shape& out = spec.outputs[0].shape;
  const std::vector<int64_t> from = strides_of(spec.inputs[0].shape);
  std::vector<int64_t> permuted;
  for (int64_t axis : spec.attributes.get_ints("permutation")) {
    permuted.push_back(from[static_cast<size_t>(axis)]);
  }
  return make_copy(spec, copy_axes(out, permuted, strides_of(out)));
}

// Axes before the concatenated one are divided into blocks, whose results stay in a cache while all
// inputs are copied into them.
std::unique_ptr<Kernel> make_concatenate(const KernelSpec& spec) {
  const Shape& out = spec.outputs[0].shape;
  const int64_t axis = spec.attributes.get_int("axis");
  const int64_t outer = out.slice(0, axis).num_elements();
  const auto element = static_cast<int64_t>(size_of(spec.outputs[0].dtype));
  const auto is_alternating = [&](const TensorType& type) {
    return type.shape.slice(axis).num_elements() == 1;
  };
  if (spec.inputs.size() == 2 && std::ranges::all_of(spec.inputs, is_alternating)) {
    return make_kernel([element, outer](const KernelArgs& args) {
      interleave(static_cast<size_t>(element), args.in[0], args.in[1], args.out[0], outer);
    });
  }
  const int64_t to_row = out.slice(axis).num_elements();
  const int64_t block = std::clamp<int64_t>(kJoinedBytes / std::max<int64_t>(1, to_row * element),
                                            1, std::max<int64_t>(1, outer));
  struct Part {
    int64_t row;  // elements
    StridedCopy whole, last;
  };
  std::vector<Part> parts;
  int64_t offset = 0;
  for (const TensorType& input : spec.inputs) {
    const int64_t row = input.shape.slice(axis).num_elements();
    const auto copy = [&](int64_t rows) {
      return StridedCopy(size_of(input.dtype), {{rows, row, to_row}, {row, 1, 1}}, 0, offset);
    };
    parts.push_back({row, copy(block), copy(outer % block)});
    offset += row;
  }
  const bool is_long = outer == 1 || to_row * element >= kLongRowBytes;
  return make_kernel([=](const KernelArgs& args) {
    const auto join = [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += block) {
        for (size_t i = 0; i < parts.size(); ++i) {
          const StridedCopy& copy = first + block > outer ? parts[i].last : parts[i].whole;
          copy.run(static_cast<const std::byte*>(args.in[i]) + first * parts[i].row * element,
                   static_cast<std::byte*>(args.out[0]) + first * to_row * element);
        }
      }
    };
    if (is_long) {
      join(0, outer);  // each copy uses all threads
    } else {
      parallel_for(outer, block, join);
    }
  });
}

std::unique_ptr<Kernel> make_slice(const KernelSpec& spec) {
  const Shape& out = spec.outputs[0].shape;
  std::vector<int64_t> from = strides_of(spec.inputs[0].shape);
  const auto& begin = spec.attributes.get_ints("begin");
  const auto& steps = spec.attributes.get_ints("strides");
  int64_t offset = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    offset += begin[i] * from[i];
    from[i] *= steps[i];
  }
  return make_copy(spec, copy_axes(out, from, strides_of(out)), offset);
}

std::unique_ptr<Kernel> make_reverse(const KernelSpec& spec) {
  const Shape& out = spec.outputs[0].shape;
  const std::vector<int64_t> to = strides_of(out);
  std::vector<int64_t> from = to;
  int64_t offset = 0;
  for (int64_t axis : spec.attributes.get_ints("axes")) {
    int64_t& step = from[static_cast<size_t>(axis)];
    offset += (out[axis] - 1) * step;
    step = -step;
  }
  return make_copy(spec, copy_axes(out, from, to), offset);
}

std::unique_ptr<Kernel> make_broadcast(const KernelSpec& spec) {
  const Shape& out = spec.outputs[0].shape;
  const Shape& in = spec.inputs[0].shape;
  std::vector<int64_t> from = strides_of(in);
  for (size_t i = 0; i < from.size(); ++i) {
    if (in[static_cast<int64_t>(i)] == 1) from[i] = 0;
  }
  from.insert(from.begin(), static_cast<size_t>(out.rank() - in.rank()), 0);
  return make_copy(spec, copy_axes(out, from, strides_of(out)));
}

template <class T>
void fill(const void* value, void* to, int64_t count) {
  parallel_for(count, kFillGrain, [&](int64_t begin, int64_t end) {
    std::fill(static_cast<T*>(to) + begin, static_cast<T*>(to) + end,
              *static_cast<const T*>(value));
  });
}

using Fill = void (*)(const void*, void*, int64_t);

Fill fill_of(size_t element) {
  switch (element) {
    case 1:
      return fill<uint8_t>;
    case 2:
      return fill<uint16_t>;
    case 4:
      return fill<uint32_t>;
    default:
      return fill<uint64_t>;
  }
}

std::unique_ptr<Kernel> make_pad(const KernelSpec& spec) {
  const Shape& in = spec.inputs[0].shape;
  const Shape& out = spec.outputs[0].shape;
  std::vector<int64_t> to = strides_of(out);
  const auto& low = spec.attributes.get_ints("low");
  const auto& interior = spec.attributes.get_ints("interior");
  int64_t offset = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    offset += low[i] * to[i];
    to[i] *= interior[i] + 1;
  }
  const size_t element = size_of(spec.outputs[0].dtype);
  const StridedCopy copy(element, copy_axes(in, strides_of(in), to), 0, offset);
  return make_kernel(
      [copy, fill = fill_of(element), count = out.num_elements()](const KernelArgs& args) {
        fill(args.in[1], args.out[0], count);
        copy.run(args.in[0], args.out[0]);
      });
}

}  // namespace

void register_shape_kernels(KernelTable& table) {
  table.add("reshape", make_reshape, {{0, 0}});
  table.add("bitcast", make_reshape);
  table.add("transpose", make_transpose);
  table.add("concatenate", make_concatenate);
  table.add("slice", make_slice);
  table.add("pad", make_pad);
  table.add("reverse", make_reverse);
  table.add("broadcast_to", make_broadcast);
}

}  // namespace cornu::cpu

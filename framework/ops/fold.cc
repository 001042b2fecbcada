// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/fold.h"

#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// The positions of the elements of blocks in a padded image stored row by row.
struct Blocks {
  std::vector<int64_t> kernel;
  std::vector<int64_t> dilation;
  std::vector<int64_t> padding;
  std::vector<int64_t> stride;
  std::vector<int64_t> padded;  // height and width
  std::vector<int64_t> counts;  // number of blocks along both axes
  int64_t size;                 // number of elements of a block
  int64_t count = 1;            // number of blocks
  int64_t pixels;               // of a padded image

  Blocks(int64_t height, int64_t width, const Sizes& kernel_size, const FoldOptions& options,
         std::string_view who)
      : kernel(kernel_size.spread(2, who, "kernel_size")),
        dilation(options.dilation.spread(2, who, "dilation")),
        padding(options.padding.spread(2, who, "padding", 0)),
        stride(options.stride.spread(2, who, "stride")),
        padded({height + 2 * Checked(padding[0], who), width + 2 * Checked(padding[1], who)}),
        size(Checked(kernel[0], who) * kernel[1]),
        pixels(Checked(padded[0], who) * padded[1]) {
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t reach = dilated_extent(kernel[axis], dilation[axis], who);
      check<InvalidArgument>(reach <= padded[axis],
                             "{}: expected blocks that fit into an image of {} x {} (with its "
                             "padding), got one of {} along axis {}.",
                             who, padded[0], padded[1], reach, axis);
      counts.push_back((padded[axis] - reach) / stride[axis] + 1);
      count = Checked(count, who) * counts.back();
    }
  }

  // Along one axis: (elements of a block, blocks).
  Tensor along(size_t axis) const {
    const DType dtype = index_dtype(pixels);
    return expand_dims(arange(kernel[axis], dtype) * dilation[axis], -1) +
           arange(counts[axis], dtype) * stride[axis];
  }
  // (rows * columns of a block * blocks).
  Tensor places() const {
    const Tensor rows = reshape(along(0), {kernel[0], 1, counts[0], 1}) * padded[1];
    return reshape(rows + reshape(along(1), {1, kernel[1], 1, counts[1]}), {-1});
  }
};

int64_t known(const Tensor& x, int64_t axis, std::string_view who) {
  check<InvalidArgument>(x.shape()[axis] != kUnknown,
                         "{}: expected a known size of axis {}, got {}.", who, axis, x.shape());
  return x.shape()[axis];
}

}  // namespace

Tensor unfold(const Tensor& x, const Sizes& kernel_size, const FoldOptions& options) {
  require_defined(x, "unfold");
  check<InvalidArgument>(x.rank() == 4,
                         "unfold: expected images (batch, channels, height, width), got shape {}.",
                         x.shape());
  const int64_t channels = known(x, 1, "unfold");
  const Blocks blocks(known(x, 2, "unfold"), known(x, 3, "unfold"), kernel_size, options, "unfold");
  const auto both = [&](size_t axis) {
    return std::pair{blocks.padding[axis], blocks.padding[axis]};
  };
  const Tensor flat =
      reshape(pad(x, {{0, 0}, {0, 0}, both(0), both(1)}), {-1, channels, blocks.pixels});
  return reshape(take(flat, blocks.places(), -1),
                 {-1, Checked(channels, "unfold") * blocks.size, blocks.count});
}

Tensor fold(const Tensor& x, const Sizes& output_size, const Sizes& kernel_size,
            const FoldOptions& options) {
  require_defined(x, "fold");
  const auto output = output_size.spread(2, "fold", "output_size");
  const Blocks blocks(output[0], output[1], kernel_size, options, "fold");
  check<InvalidArgument>(
      x.rank() == 3 && x.shape()[1] != kUnknown && x.shape()[1] % blocks.size == 0 &&
          x.shape()[2] == blocks.count,
      "fold: expected (batch, a multiple of {}, {}), the elements of a block and "
      "the number of blocks, got shape {}.",
      blocks.size, blocks.count, x.shape());
  const int64_t channels = x.shape()[1] / blocks.size;
  const Tensor elements =
      transpose(reshape(x, {-1, channels, Checked(blocks.size, "fold") * blocks.count}), {2, 0, 1});
  const Tensor sums = segment_sum(elements, blocks.places(), blocks.pixels);
  const Tensor images =
      reshape(transpose(sums, {1, 2, 0}), {-1, channels, blocks.padded[0], blocks.padded[1]});
  return slice_axis(slice_axis(images, 2, blocks.padding[0], blocks.padding[0] + output[0]), 3,
                    blocks.padding[1], blocks.padding[1] + output[1]);
}

}  // namespace cornu::ops

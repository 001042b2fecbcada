// SPDX-License-Identifier: Apache-2.0
// Extracting and combining blocks of images (keras.ops.nn). Images are channels-first here, as in
// Keras; image::extract_patches is the equivalent for channels-last images.
#pragma once

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

struct FoldOptions {
  Sizes dilation = 1;
  Sizes padding = 0;  // zeros around height and width
  Sizes stride = 1;
};

// images (batch, channels, height, width) -> (batch, channels * rows * columns of a block, blocks).
// Throws InvalidArgument when a block doesn't fit into the padded image.
Tensor unfold(const Tensor& x, const Sizes& kernel_size, const FoldOptions& options = {});

// Sums such blocks at their positions: (batch, channels * rows * columns, blocks) -> (batch,
// channels, height, width) with `output_size`.
Tensor fold(const Tensor& x, const Sizes& output_size, const Sizes& kernel_size,
            const FoldOptions& options = {});

}  // namespace cornu::ops

// SPDX-License-Identifier: Apache-2.0
// Blocks of images, one after the other (keras.ops.nn). Images are channels-first here, as Keras
// has it; image::extract_patches is the same for channels-last ones.
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
// InvalidArgument when a block doesn't fit into the padded image.
Tensor unfold(const Tensor& x, const Sizes& kernel_size, const FoldOptions& options = {});

// The sum of such blocks at their places: (batch, channels * rows * columns, blocks) -> (batch,
// channels, height, width) of `output_size`.
Tensor fold(const Tensor& x, const Sizes& output_size, const Sizes& kernel_size,
            const FoldOptions& options = {});

}  // namespace cornu::ops

// SPDX-License-Identifier: Apache-2.0
// All operations on tensors (keras.ops and keras.random).
//
// They accept values, symbols of a trace and placeholders of functional models alike. Names,
// argument order and defaults are Keras's; layout is channels-last. Up to two optional arguments
// are passed directly (`sum(x, -1, true)`), more as a struct (`conv(x, kernel, {.strides = 2})`). A
// C++ scalar among the operands takes the dtype of the tensor it is combined with; tensors of
// different dtypes promote. All are thread-safe.
#pragma once

#include "framework/ops/arrange.h"
#include "framework/ops/attention.h"
#include "framework/ops/bits.h"
#include "framework/ops/bounding_boxes.h"
#include "framework/ops/collective.h"
#include "framework/ops/control.h"
#include "framework/ops/conv.h"
#include "framework/ops/creation.h"
#include "framework/ops/ctc.h"
#include "framework/ops/custom_gradient.h"
#include "framework/ops/einsum.h"
#include "framework/ops/fft.h"
#include "framework/ops/fold.h"
#include "framework/ops/image.h"
#include "framework/ops/image_filters.h"
#include "framework/ops/image_geometry.h"
#include "framework/ops/index.h"
#include "framework/ops/indexing.h"
#include "framework/ops/linalg.h"
#include "framework/ops/loops.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/matrix.h"
#include "framework/ops/nn.h"
#include "framework/ops/norm.h"
#include "framework/ops/numeric.h"
#include "framework/ops/pool.h"
#include "framework/ops/random.h"
#include "framework/ops/random_distributions.h"
#include "framework/ops/recurrent.h"
#include "framework/ops/reduce.h"
#include "framework/ops/scatter.h"
#include "framework/ops/shape.h"
#include "framework/ops/statistics.h"
#include "framework/ops/values.h"

// SPDX-License-Identifier: Apache-2.0
// All operations on tensors (keras.ops and keras.random).
//
// They take values, symbols of a trace and placeholders of functional models alike. Names, argument
// order and defaults are Keras's; layout is channels-last. Up to two optional arguments are plain
// ones (`sum(x, -1, true)`), more are a struct (`conv(x, kernel, {.strides = 2})`). A C++ scalar
// among the operands takes the dtype of the tensor it meets; tensors of different dtypes promote.
// All are thread-safe.
#pragma once

#include "cornu/ops/arrange.h"
#include "cornu/ops/collective.h"
#include "cornu/ops/control.h"
#include "cornu/ops/conv.h"
#include "cornu/ops/creation.h"
#include "cornu/ops/custom_gradient.h"
#include "cornu/ops/einsum.h"
#include "cornu/ops/image.h"
#include "cornu/ops/index.h"
#include "cornu/ops/indexing.h"
#include "cornu/ops/linalg.h"
#include "cornu/ops/loops.h"
#include "cornu/ops/math.h"
#include "cornu/ops/matmul.h"
#include "cornu/ops/matrix.h"
#include "cornu/ops/nn.h"
#include "cornu/ops/norm.h"
#include "cornu/ops/numeric.h"
#include "cornu/ops/pool.h"
#include "cornu/ops/random.h"
#include "cornu/ops/random_distributions.h"
#include "cornu/ops/reduce.h"
#include "cornu/ops/scatter.h"
#include "cornu/ops/shape.h"
#include "cornu/ops/statistics.h"
#include "cornu/ops/values.h"

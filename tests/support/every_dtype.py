# SPDX-License-Identifier: Apache-2.0
"""Small arrays of every dtype, the same as those in every_dtype.h."""

import numpy as np

DTYPES = ["bool", "uint8", "int8", "int32", "int64", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64"]
SHAPES = [(), (1,), (0, 3), (2, 3, 5)]


def values(dtype, shape):
    import ml_dtypes

    count = int(np.prod(shape, dtype=int))
    numbers = np.arange(count) * 7 % 11
    if dtype == "bool":
        numbers = numbers % 2
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return numbers.astype(dtype).reshape(shape)

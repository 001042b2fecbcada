// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/housing.h"

#include "data/datasets/test_split.h"
#include "data/numpy_random.h"
#include "data/readers/npz.h"
#include "framework/core/rows.h"

namespace cornu::datasets {

Splits load_housing(const std::filesystem::path& path, std::optional<int64_t> rows,
                    double test_split, int64_t seed) {
  data::NumpyRandomState random(seed);
  const data::NpzReader file(path);
  Tensor x = file.read("x");
  Tensor y = file.read("y");
  check<DataLoss>(x.rank() == 2 && y.rank() == 1 && x.dim(0) == y.dim(0),
                  "{}: expected x of shape (n, features) and y of shape (n), got {} and {}.",
                  path.string(), x.shape(), y.shape());
  if (rows && *rows < x.dim(0)) {
    x = x.rows(0, *rows);
    y = y.rows(0, *rows);
  }
  const auto order = random.permutation(x.dim(0));
  x = gather_rows(x, order);
  y = gather_rows(y, order);
  const int64_t split = training_rows(x.dim(0), test_split);
  return {{x.rows(0, split), y.rows(0, split)}, {x.rows(split, x.dim(0)), y.rows(split, y.dim(0))}};
}

}  // namespace cornu::datasets

// SPDX-License-Identifier: Apache-2.0
// Eigen matrices as tensors, and tensors as Eigen matrices.
#include <cornu/eigen.h>
#include <doctest/doctest.h>

#include "framework/ops/ops.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

const Tensor kTable = Tensor::from({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});

}  // namespace

TEST_CASE("a tensor is seen as a matrix without copying") {
  const auto matrix = as_matrix<float>(kTable);
  CHECK(matrix.rows() == 2);
  CHECK(matrix.cols() == 3);
  CHECK(matrix(1, 0) == 4);
  CHECK(static_cast<const void*>(matrix.data()) == static_cast<const void*>(kTable.raw()));
  const Eigen::MatrixXf by_columns = matrix;
  CHECK(by_columns(1, 0) == 4);
  CHECK(by_columns.data()[1] == 4);
  CHECK(as_vector<float>(kTable).sum() == 21);
  const Tensor vector = Tensor::from({1, 2, 3});
  CHECK(as_matrix<int32_t>(vector).cols() == 1);
  CHECK(
      error_of([] { as_matrix<double>(kTable); }).starts_with("InvalidArgument: Tensor of shape"));
  CHECK(error_of([] {
          const Tensor cube = ops::zeros({2, 2, 2});
          as_matrix<float>(cube);
        }) ==
        "InvalidArgument: as_matrix: expected a tensor of one or two axes, got shape (2, 2, 2). "
        "Reshape it first.");
  CHECK_THROWS_AS(as_matrix<float>(static_cast<const Tensor&>(Tensor())), FailedPrecondition);
}

TEST_CASE("matrices of either order are copied in, and expressions") {
  Eigen::MatrixXf by_columns(2, 3);
  by_columns << 1, 2, 3, 4, 5, 6;
  const EigenMatrix<float> by_rows = by_columns;
  for (const Tensor& tensor :
       {from_eigen(by_columns), from_eigen(by_rows), from_eigen(by_rows.array()),
        from_eigen(by_columns.transpose().transpose())}) {
    CHECK(tensor.shape() == Shape{2, 3});
    CHECK(tensor.to_vector<float>() == kTable.to_vector<float>());
  }
  CHECK(from_eigen(by_columns.transpose())(2, 1).item<float>() == 6);
  CHECK(from_eigen(Eigen::Vector3d(1, 2, 3)).shape() == Shape{3});
  CHECK(from_eigen(Eigen::Vector3d(1, 2, 3)).dtype() == DType::Float64);
  CHECK(from_eigen(Eigen::RowVector2i(1, 2)).to_vector<int32_t>() == std::vector<int32_t>{1, 2});
  CHECK(from_eigen(Eigen::MatrixXf(0, 4)).shape() == Shape{0, 4});
  const Eigen::Matrix<short, 2, 2> shorts = Eigen::Matrix<short, 2, 2>::Constant(-3);
  CHECK(from_eigen(shorts)(1, 1).item<int>() == -3);
}

TEST_CASE("memory is shared where it is asked for") {
  EigenMatrix<float> matrix = EigenMatrix<float>::Zero(2, 2);
  Tensor tensor = wrap_eigen(matrix);
  as_mutable_matrix<float>(tensor)(0, 1) = 5;
  CHECK(matrix(0, 1) == 5);
  matrix(1, 1) = 7;
  CHECK(tensor.to_vector<float>() == std::vector<float>{0, 5, 0, 7});
  Tensor copy = kTable;
  as_mutable_matrix<float>(copy) *= 2;
  CHECK(copy(1, 2).item<float>() == 12);
  CHECK(kTable(1, 2).item<float>() == 6);
}

// SPDX-License-Identifier: Apache-2.0
// Conversions between tensors and Eigen matrices. Requires Eigen 3.4, unlike <cornu/cornu.h>.
#pragma once

#include <Eigen/Core>
#include <span>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu {

// The Eigen type of a tensor's elements, which are row-major. Assignable to any Eigen matrix,
// including column-major ones.
template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using EigenVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

namespace internal {

// Rows and columns of a matrix, or of a vector as one column.
inline std::pair<Eigen::Index, Eigen::Index> eigen_sizes(const Tensor& tensor) {
  const Shape& shape = tensor.shape("as_matrix");
  check<InvalidArgument>(
      shape.rank() == 1 || shape.rank() == 2,
      "as_matrix: expected a tensor of one or two axes, got shape {}. Reshape it "
      "first.",
      shape);
  return {shape[0], shape.rank() == 2 ? shape[1] : 1};
}

}  // namespace internal

// Returns a view of a matrix, or of a vector as one column, without copying; valid while the tensor
// lives. Throws InvalidArgument unless the tensor has one or two axes and dtype T.
template <class T>
Eigen::Map<const EigenMatrix<T>> as_matrix(const Tensor& tensor) {
  const auto [rows, columns] = internal::eigen_sizes(tensor);
  return {tensor.data<T>().data(), rows, columns};
}
template <class T>
void as_matrix(Tensor&& tensor) = delete;  // the view would outlive it: name the tensor first

// All elements as one vector, whatever the shape.
template <class T>
Eigen::Map<const EigenVector<T>> as_vector(const Tensor& tensor) {
  const std::span<const T> values = tensor.data<T>();
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}
template <class T>
void as_vector(Tensor&& tensor) = delete;

// Returns a writable view; see Tensor::mutable_data.
template <class T>
Eigen::Map<EigenMatrix<T>> as_mutable_matrix(Tensor& tensor) {
  const auto [rows, columns] = internal::eigen_sizes(tensor);
  return {tensor.mutable_data<T>().data(), rows, columns};
}

// Copies a matrix, array or expression of any storage order to a tensor of shape (rows, columns),
// or (size,) for a vector.
template <class Derived>
Tensor from_eigen(const Eigen::DenseBase<Derived>& values) {
  using T = stored_t<typename Derived::Scalar>;
  using Rows = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Shape shape =
      Derived::IsVectorAtCompileTime ? Shape{values.size()} : Shape{values.rows(), values.cols()};
  Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  Eigen::Map<Rows>(tensor.mutable_data<T>().data(), values.rows(), values.cols()) =
      values.derived().array().template cast<T>();
  return tensor;
}

// Wraps a row-major matrix or a vector without copying: it must outlive the tensor, and writing to
// the tensor changes it.
template <class Derived>
Tensor wrap_eigen(Eigen::PlainObjectBase<Derived>& values) {
  static_assert(Derived::IsVectorAtCompileTime || Derived::IsRowMajor,
                "tensors are row-major: copy a column-major matrix with from_eigen");
  const Shape shape =
      Derived::IsVectorAtCompileTime ? Shape{values.size()} : Shape{values.rows(), values.cols()};
  return Tensor::wrap(values.data(), shape, dtype_of<typename Derived::Scalar>);
}

}  // namespace cornu

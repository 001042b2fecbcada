// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/attention/product.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <vector>

#include "framework/backends/cpu/kernels/onednn.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

using onednn::Desc;
using onednn::Dims;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A product of operands of type S, summed in T.
template <class S, class T = S>
class EigenProduct : public BlockProduct {
 public:
  explicit EigenProduct(const BlockShape& shape) : shape_(shape) {}

  bool run(int, const void* a, const void* b, void* out, void*) override {
    using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    const auto& s = shape_;
    const auto matrix = [](const void* data, int64_t rows, int64_t columns, const Layout& layout) {
      return Eigen::Map<const Matrix<S>, Eigen::Unaligned, Strides>(
          static_cast<const S*>(data), rows, columns, Strides(layout.row, layout.column));
    };
    const auto left = matrix(a, s.m, s.k, s.a);
    const auto right = matrix(b, s.k, s.n, s.b);
    Eigen::Map<Matrix<T>, Eigen::Unaligned, Strides> to(static_cast<T*>(out), s.m, s.n,
                                                        Strides(s.out.row, s.out.column));
    if (s.add) {
      to.noalias() += left.template cast<T>() * right.template cast<T>();
    } else {
      to.noalias() = static_cast<T>(s.scale) * (left.template cast<T>() * right.template cast<T>());
    }
    return true;
  }

 private:
  BlockShape shape_;
};

Desc block_desc(onednn::Type type, int64_t rows, int64_t columns, const Layout& layout) {
  return Desc({rows, columns}, type, Dims{layout.row, layout.column});
}

class OnednnProduct : public BlockProduct {
 public:
  OnednnProduct(onednn::Type type, const BlockShape& shape, int parts) {
    const ComputeThreadsScope alone(1);
    const Desc a = block_desc(type, shape.m, shape.k, shape.a);
    const Desc b = block_desc(type, shape.k, shape.n, shape.b);
    const Desc out = block_desc(onednn::Type::f32, shape.m, shape.n, shape.out);
    const auto chosen = onednn::choose<dnnl::matmul>(
        onednn::new_attributes(shape.add, static_cast<float>(shape.scale)), a, b, out);
    fast_ = onednn::is_fast(chosen);
    if (!fast_) return;
    scratch_bytes_ = onednn::aligned(chosen.scratchpad_desc().get_size());
    const dnnl::matmul primitive(chosen);
    for (int part = 0; part < parts; ++part) {
      onednn::Step& step = steps_.emplace_back(primitive);
      step.add(DNNL_ARG_SRC, a);
      step.add(DNNL_ARG_WEIGHTS, b);
      step.add(DNNL_ARG_DST, out);
      step.add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
    }
  }

  bool fast() const { return fast_; }
  size_t scratch_bytes() const override { return scratch_bytes_; }

  bool run(int part, const void* a, const void* b, void* out, void* scratch) override {
    onednn::Step& step = steps_[static_cast<size_t>(part)];
    step.bind(0, a);
    step.bind(1, b);
    step.bind(2, out);
    step.bind(3, scratch);
    return step.try_run();
  }

 private:
  bool fast_ = false;
  size_t scratch_bytes_ = 0;
  std::vector<onednn::Step> steps_;
};

}  // namespace

std::unique_ptr<BlockProduct> make_block_product(DType dtype, const BlockShape& shape, int parts) {
  if (dtype == DType::Float64) return std::make_unique<EigenProduct<double>>(shape);
  const bool half = dtype == DType::BFloat16;
  const onednn::Type type = half ? onednn::Type::bf16 : onednn::Type::f32;
  auto product = std::make_unique<OnednnProduct>(type, shape, parts);
  if (product->fast()) return product;
  if (half) return std::make_unique<EigenProduct<Eigen::bfloat16, float>>(shape);
  return std::make_unique<EigenProduct<float>>(shape);
}

}  // namespace cornu::cpu

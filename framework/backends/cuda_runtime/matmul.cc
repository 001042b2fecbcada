// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's matrices are column-major. A row-major (m, n) matrix is a column-major (n, m) one, so
// out = op(a) op(b) is requested as out' = op(b)' op(a)': operands are swapped, and `b` becomes
// cuBLASLt's A.
#include "framework/backends/cuda_runtime/matmul.h"

#include <algorithm>
#include <array>
#include <optional>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr uint64_t kMaxWorkspace = 32u << 20;
// Per call: a grid's z axis is limited to 65535 blocks. A multiple of kOperandAlignment, so that
// the operands of every call have the alignment of the first call's.
constexpr int64_t kMaxBatch = 65520;
static_assert(kMaxBatch % static_cast<int64_t>(kOperandAlignment) == 0);

void check_blas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]] {
    throw LibraryError(fmt::format("cuBLASLt failed when {}: {}", doing, describe(status)),
                       status == CUBLAS_STATUS_ALLOC_FAILED);
  }
}

struct Types {
  cudaDataType_t in;
  cudaDataType_t out;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

std::optional<Types> types_of(const MatmulSpec& spec) {
  if (spec.int8) {
    if (!spec.has_int8_form()) return std::nullopt;
    return Types{CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
  }
  switch (spec.dtype) {
    case DType::Float16:
      return Types{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case DType::BFloat16:
      return Types{CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case DType::Float32:
      return Types{CUDA_R_32F, CUDA_R_32F,
                   spec.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case DType::Float64:
      return Types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
    default:
      return std::nullopt;
  }
}

size_t in_bytes(const MatmulSpec& spec) { return spec.int8 ? 1 : size_of(spec.dtype); }
size_t out_bytes(const MatmulSpec& spec) { return size_of(spec.dtype); }

// The factors of a product and of what is there before it, in the type that the library wants.
class Factors {
 public:
  explicit Factors(cudaDataType_t type) : type_(type) {}
  const void* one() const { return of(1); }
  const void* zero() const { return of(0); }

 private:
  const void* of(size_t which) const {
    static constexpr double kDoubles[] = {0, 1};
    static constexpr float kFloats[] = {0, 1};
    static constexpr int32_t kInts[] = {0, 1};
    if (type_ == CUDA_R_64F) return &kDoubles[which];
    if (type_ == CUDA_R_32I) return &kInts[which];
    return &kFloats[which];
  }

  cudaDataType_t type_;
};

using Description = cublasLtMatmulDescOpaque_t;
using Layout = cublasLtMatrixLayoutOpaque_t;

// The operation, except for the operands' layouts.
Description describe_product(const MatmulSpec& spec, const Types& types, const void* bias) {
  Description product;
  check_blas(cublasLtMatmulDescInit_internal(&product, sizeof(product), types.compute, types.scale),
             "describing a product");
  const auto set = [&](cublasLtMatmulDescAttributes_t name, auto value) {
    check_blas(cublasLtMatmulDescSetAttribute(&product, name, &value, sizeof(value)),
               "describing a product");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (spec.bias) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE,
        spec.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  return product;
}

// A batch of row-major (rows, columns) matrices.
Layout layout_of(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch,
                 int64_t stride) {
  Layout layout;
  check_blas(cublasLtMatrixLayoutInit_internal(&layout, sizeof(layout), type,
                                               static_cast<uint64_t>(columns),
                                               static_cast<uint64_t>(rows), columns),
             "describing a matrix");
  const auto set = [&](cublasLtMatrixLayoutAttribute_t name, auto value) {
    check_blas(cublasLtMatrixLayoutSetAttribute(&layout, name, &value, sizeof(value)),
               "describing a matrix");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

class Preference {
 public:
  Preference() {
    check_blas(cublasLtMatmulPreferenceInit_internal(&preference_, sizeof(preference_)),
               "choosing an algorithm");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
    // Partial sums are combined in a fixed order, in float.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (const auto name :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(name, static_cast<uint32_t>(kOperandAlignment));
    }
  }
  cublasLtMatmulPreference_t get() { return &preference_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t name, T value) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(&preference_, name, &value, sizeof(value)),
               "choosing an algorithm");
  }

  cublasLtMatmulPreferenceOpaque_t preference_;
};

// The products of some pairs of the batch.
struct Part {
  int64_t first = 0;
  Layout a;
  Layout b;
  Layout out;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes = 0;
};

Part make_part(cublasLtHandle_t handle, const MatmulSpec& spec, const Types& types, int64_t first,
               int64_t count) {
  const auto layout = [&](int64_t rows, int64_t columns, bool transposed, int64_t stride) {
    return transposed ? layout_of(types.in, columns, rows, count, stride)
                      : layout_of(types.in, rows, columns, count, stride);
  };
  Part part{.first = first,
            .a = layout(spec.m, spec.k, spec.transpose_a, spec.a_stride),
            .b = layout(spec.k, spec.n, spec.transpose_b, spec.b_stride),
            .out = layout_of(types.out, spec.m, spec.n, count, spec.m * spec.n),
            .algorithm = {}};
  // The bias isn't known yet: use an address with the alignment that it will have.
  Description product =
      describe_product(spec, types, reinterpret_cast<const void*>(kOperandAlignment));
  Preference preference;
  std::array<cublasLtMatmulHeuristicResult_t, 8> results;
  int found = 0;
  check_blas(cublasLtMatmulAlgoGetHeuristic(
                 handle, &product, &part.b, &part.a, &part.out, &part.out, preference.get(),
                 static_cast<int>(results.size()), results.data(), &found),
             "choosing an algorithm");
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kMaxWorkspace) {
      part.algorithm = result.algo;
      part.workspace_bytes = result.workspaceSize;
      return part;
    }
  }
  throw LibraryError("cuBLASLt has no algorithm for a product.");
}

std::string label_of(const Part& part) {
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t name) {
    int32_t value = 0;
    size_t written = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
        &part.algorithm, name, &value, sizeof(value), &written);
    return status == CUBLAS_STATUS_SUCCESS ? value : -1;
  };
  return fmt::format("matmul by cuBLASLt, algorithm {}, tile {}, split {}",
                     get(CUBLASLT_ALGO_CONFIG_ID), get(CUBLASLT_ALGO_CONFIG_TILE_ID),
                     get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

std::vector<Operand> operands_of(const MatmulSpec& spec) {
  const auto in = [&](int64_t elements) {
    return Operand{static_cast<size_t>(elements) * in_bytes(spec), false};
  };
  const int64_t last = spec.batch - 1;
  std::vector<Operand> operands = {
      in(last * spec.a_stride + spec.m * spec.k),
      in(last * spec.b_stride + spec.k * spec.n),
      {static_cast<size_t>(spec.batch * spec.m * spec.n) * out_bytes(spec), true}};
  if (spec.bias) operands.push_back(in(spec.n));
  return operands;
}

class MatmulKernel : public LibraryKernelBase {
 public:
  MatmulKernel(cublasLtHandle_t handle, const MatmulSpec& spec, const Types& types,
               std::vector<Part> parts)
      : LibraryKernelBase(label_of(parts.front()), operands_of(spec)),
        handle_(handle),
        spec_(spec),
        types_(types),
        parts_(std::move(parts)) {
    for (const Part& part : parts_) {
      workspace_bytes_ = std::max(workspace_bytes_, part.workspace_bytes);
    }
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }

 protected:
  void enqueue(RuntimeStream& stream, std::span<void* const> operands, void* workspace) override {
    Description product = describe_product(spec_, types_, spec_.bias ? operands[3] : nullptr);
    const Factors factors(types_.scale);
    for (Part& part : parts_) {
      const void* a = at(operands[0], part.first * spec_.a_stride, in_bytes(spec_));
      const void* b = at(operands[1], part.first * spec_.b_stride, in_bytes(spec_));
      void* out = at(operands[2], part.first * spec_.m * spec_.n, out_bytes(spec_));
      check_blas(cublasLtMatmul(handle_, &product, factors.one(), b, &part.b, a, &part.a,
                                factors.zero(), out, &part.out, out, &part.out, &part.algorithm,
                                workspace, workspace_bytes_, stream.handle()),
                 "multiplying matrices");
    }
  }

 private:
  static void* at(void* operand, int64_t elements, size_t element) {
    return static_cast<char*>(operand) + static_cast<size_t>(elements) * element;
  }

  cublasLtHandle_t handle_;
  MatmulSpec spec_;
  Types types_;
  std::vector<Part> parts_;
  size_t workspace_bytes_ = 0;
};

// A single product instead of a batch, if all matrices are multiplied by the same one.
MatmulSpec without_batch(MatmulSpec spec) {
  if (spec.batch > 1 && spec.b_stride == 0 && !spec.transpose_a &&
      spec.a_stride == spec.m * spec.k) {
    spec.m *= spec.batch;
    spec.batch = 1;
  }
  if (spec.batch == 1) spec.a_stride = spec.b_stride = 0;
  return spec;
}

}  // namespace

std::string describe(cublasStatus_t status) {
  return fmt::format("{}: {}", cublasLtGetStatusName(status), cublasLtGetStatusString(status));
}

std::shared_ptr<LibraryKernelBase> make_matmul(cublasLtHandle_t handle, const MatmulSpec& wanted,
                                               std::string& why) {
  const MatmulSpec spec = without_batch(wanted);
  const std::optional<Types> types = types_of(spec);
  if (!types || spec.batch <= 0 || spec.m <= 0 || spec.n <= 0 || spec.k <= 0 ||
      (spec.relu && !spec.bias)) {
    why = "not for cuBLASLt";
    return nullptr;
  }
  try {
    std::vector<Part> parts;
    for (int64_t first = 0; first < spec.batch; first += kMaxBatch) {
      parts.push_back(
          make_part(handle, spec, *types, first, std::min(kMaxBatch, spec.batch - first)));
    }
    return std::make_shared<MatmulKernel>(handle, spec, *types, std::move(parts));
  } catch (const LibraryError& error) {
    if (error.is_out_of_memory()) throw;
    why = error.what();
    return nullptr;
  }
}

}  // namespace cornu::cuda

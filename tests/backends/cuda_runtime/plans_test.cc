// SPDX-License-Identifier: Apache-2.0
// The plans that cuDNN makes for convolutions and attention, on GPUs that need not be present.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <array>

#include "framework/backends/cuda_runtime/attention.h"
#include "framework/backends/cuda_runtime/conv.h"

using namespace cornu;
using namespace cornu::cuda;

namespace {

using Direction = ConvSpec::Direction;

struct Kind {
  int version;  // 900: compute capability 9.0
  const char* name;
  int multiprocessors;
  int shared_bytes;
};
constexpr Kind kKinds[] = {{800, "NVIDIA A100-SXM4-80GB", 108, 166912},
                           {900, "NVIDIA H100 80GB HBM3", 132, 232448},
                           {1000, "NVIDIA B200", 148, 232448}};

class DescribedGpu {
 public:
  explicit DescribedGpu(const Kind& kind) : kind_(kind) {
    load_cudnn();
    descriptor_ = std::make_unique<CudnnDescriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    const std::string text = fmt::format(
        R"({{"deviceName": "{}", "cudaDeviceId": 0, "deviceVer": {}, "multiProcessorCount": {},
             "driverVer": 13000, "maxGridSize": [2147483647, 65535, 65535],
             "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "smClockRateKHz": 1980000,
             "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "warpSize": 32,
             "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": {},
             "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 0,
             "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
             "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 85899345920}})",
        kind.name, kind.version, kind.multiprocessors, kind.shared_bytes);
    descriptor_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                     static_cast<int64_t>(text.size() + 1), text.c_str());
    descriptor_->finalize();
  }
  CudnnTarget target() const {
    return {.handle = nullptr, .properties = descriptor_->get(), .major = kind_.version / 100};
  }

 private:
  const Kind& kind_;
  std::unique_ptr<CudnnDescriptor> descriptor_;
};

struct ConvSizes {
  int64_t batch, length, channels, filters, window, stride, padding;
  int64_t groups = 1;
  size_t spatial = 2;
};

ConvSpec conv_of(const ConvSizes& sizes, Direction direction, DType dtype) {
  const int64_t out = (sizes.length + 2 * sizes.padding - sizes.window) / sizes.stride + 1;
  const auto shape = [&](int64_t first, int64_t each, int64_t last) {
    std::vector<int64_t> result(sizes.spatial + 2, each);
    result.front() = first;
    result.back() = last;
    return result;
  };
  ConvSpec spec;
  spec.direction = direction;
  spec.dtype = dtype;
  spec.x = shape(sizes.batch, sizes.length, sizes.channels);
  spec.filter = shape(sizes.filters, sizes.window, sizes.channels / sizes.groups);
  spec.y = shape(sizes.batch, out, sizes.filters);
  spec.strides.assign(sizes.spatial, sizes.stride);
  spec.low.assign(sizes.spatial, sizes.padding);
  spec.high = spec.low;
  spec.dilation.assign(sizes.spatial, 1);
  spec.groups = sizes.groups;
  return spec;
}

std::string plan_of(const CudnnTarget& target, const ConvSpec& spec) {
  std::string why;
  const auto kernel = make_conv(target, spec, why);
  return kernel ? kernel->describe() : "none: " + why;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cuDNN has plans for what networks use") {
  const ConvSizes all[] = {{32, 224, 3, 64, 7, 2, 3},     {32, 56, 64, 64, 3, 1, 1},
                           {32, 56, 256, 512, 1, 2, 0},   {32, 56, 96, 96, 3, 2, 1, 96},
                           {8, 28, 32, 64, 3, 1, 1, 4},   {4, 17, 5, 7, 3, 1, 1},
                           {64, 28, 1, 32, 3, 1, 0},      {8, 100, 16, 32, 5, 1, 2, 1, 1},
                           {2, 16, 16, 32, 3, 1, 1, 1, 3}};
  for (const Kind& kind : kKinds) {
    const DescribedGpu gpu(kind);
    for (const ConvSizes& sizes : all) {
      for (const auto direction :
           {Direction::Forward, Direction::InputGradient, Direction::FilterGradient}) {
        for (const DType dtype : {DType::BFloat16, DType::Float32}) {
          const ConvSpec spec = conv_of(sizes, direction, dtype);
          const std::string plan = plan_of(gpu.target(), spec);
          INFO(kind.name << ": " << sizes.channels << " channels, direction "
                         << static_cast<int>(direction));
          CHECK_MESSAGE(has(plan, "engine"), plan);
          CHECK_MESSAGE(!has(plan, "nondeterministic"), plan);
          // float32 isn't rounded unless requested.
          if (dtype == DType::Float32) CHECK_MESSAGE(!has(plan, "tensor cores"), plan);
        }
      }
    }
  }
}

TEST_CASE("a batch whose best plan wants a large workspace is convolved in parts") {
  const DescribedGpu gpu(kKinds[1]);
  const ConvSizes shortcut{256, 56, 256, 512, 1, 2, 0};
  const ConvSpec gradient = conv_of(shortcut, Direction::InputGradient, DType::Float32);
  const std::string plan = plan_of(gpu.target(), gradient);
  CHECK_MESSAGE(has(plan, ", in 2 parts"), plan);
  CHECK_MESSAGE(!has(plan, "engine 0"), plan);
  std::string why;
  CHECK(make_conv(gpu.target(), gradient, why)->workspace_bytes() <= size_t{1} << 30);
  // What fits as it is stays whole, and so does a batch that can't be divided.
  const ConvSizes small{32, 56, 256, 512, 1, 2, 0}, odd{255, 56, 256, 512, 1, 2, 0};
  for (const ConvSizes& sizes : {small, odd}) {
    const std::string whole =
        plan_of(gpu.target(), conv_of(sizes, Direction::InputGradient, DType::Float32));
    CHECK_MESSAGE(!has(whole, " parts"), whole);
    CHECK_MESSAGE(has(whole, "engine"), whole);
  }
}

TEST_CASE("cuDNN adds bias, residual and rectification to a convolution") {
  for (const Kind& kind : kKinds) {
    const DescribedGpu gpu(kind);
    for (const DType dtype : {DType::Float16, DType::Float32}) {
      ConvSpec spec = conv_of({32, 56, 64, 64, 3, 1, 1}, Direction::Forward, dtype);
      for (const bool residual : {false, true}) {
        for (const bool relu : {false, true}) {
          spec.bias = true;
          spec.residual = residual;
          spec.relu = relu;
          CHECK_MESSAGE(has(plan_of(gpu.target(), spec), "engine"), kind.name);
        }
      }
    }
  }
}

TEST_CASE("TensorFloat-32 is used where it is asked for") {
  const DescribedGpu gpu(kKinds[1]);
  ConvSpec spec = conv_of({32, 56, 64, 64, 3, 1, 1}, Direction::Forward, DType::Float32);
  spec.tf32 = true;
  CHECK(has(plan_of(gpu.target(), spec), "tensor cores"));
}

TEST_CASE("what cuDNN can't do has no plan, and a reason") {
  const DescribedGpu gpu(kKinds[1]);
  ConvSpec spec = conv_of({32, 56, 64, 64, 3, 1, 1}, Direction::Forward, DType::Float32);
  spec.y[1] = 40;  // doesn't fit
  CHECK(has(plan_of(gpu.target(), spec), "none: cuDNN failed when checking a descriptor"));
  CHECK(plan_of(gpu.target(), conv_of({0, 9, 3, 3, 3, 1, 1}, Direction::Forward, DType::Float32)) ==
        "none: not for cuDNN");
  AttentionSpec attention{
      .batch = 1, .heads = 2, .key_heads = 2, .queries = 8, .keys = 8, .size = 7};
  std::string why;
  CHECK(make_attention(gpu.target(), attention, why) == nullptr);
  CHECK(why == "head sizes must be multiples of 8");
}

// cuDNN's kernels are compiled, then loaded by the driver; without a driver, a toolkit's stub
// replaces it.
TEST_CASE("cuDNN knows the pattern of attention and of its gradient") {
  if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr &&
      dlopen(CORNU_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    MESSAGE("no stub of the driver at " << CORNU_CUDA_STUB);
    return;
  }
  const DescribedGpu gpu(kKinds[1]);
  // With a bias for each batch entry and with a shared one, and with so many scores that the
  // gradient splits the batch.
  for (const auto& [bias_batch, bias_heads, length] :
       std::vector<std::array<int64_t, 3>>{{0, 0, 256}, {4, 1, 250}, {1, 8, 256}, {4, 8, 4096}}) {
    for (const bool gradient : {false, true}) {
      const AttentionSpec spec{.gradient = gradient,
                               .batch = 4,
                               .heads = 8,
                               .key_heads = 4,
                               .queries = length,
                               .keys = length,
                               .size = 64,
                               .scale = 0.125,
                               .causal = bias_batch == 0,
                               .bias_batch = bias_batch,
                               .bias_heads = bias_heads};
      std::string why;
      const auto kernel = make_attention(gpu.target(), spec, why);
      CHECK_MESSAGE((kernel != nullptr || has(why, "cuLibraryLoadData")), why);
      if (kernel) CHECK(has(kernel->describe(), "in 2 parts") == (gradient && length == 4096));
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/cuda/lowered_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/graph/backend.h"
#include "framework/graph/dispatch.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/launches.h"

namespace cornu::cuda::testing {
namespace {

constexpr int kMarginByte = 0x5A;

// Bytes before and after each array, which must stay unchanged. Checked kernels can't touch them.
size_t margin() {
  static const size_t bytes = simulated::are_checks_wanted() ? 0 : 512;
  return bytes;
}

int without_libraries = 0;

Runtime& runtime() {
  static Runtime* plain = simulated::make_runtime({.libraries = false}).release();
  return without_libraries > 0 ? *plain : simulated::simulated_runtime();
}

// Returns the registered op; for "fused", which may not be registered, just its name.
const OpDef& op_named(const std::string& name) {
  if (const OpDef* op = OpRegistry::global().find(name)) return *op;
  static const OpDef fused{.name = "fused", .infer = {}, .vjp = {}, .traits = {}};
  check<InvalidArgument>(name == "fused", "There is no op '{}'.", name);
  return fused;
}

std::vector<TensorType> types_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(type_of(tensor));
  return types;
}

// An array on a GPU with a margin on each side.
class GpuArray {
 public:
  GpuArray(RuntimeStream* stream, std::string name, size_t bytes, int rubbish)
      : runtime_(runtime()), stream_(stream), name_(std::move(name)), bytes_(bytes) {
    memory_ = static_cast<std::byte*>(runtime_.allocate(0, bytes_ + 2 * margin()));
    check<ResourceExhausted>(memory_ != nullptr, "The simulated GPU has no {} bytes.", bytes_);
    runtime_.fill(stream_, memory_, kMarginByte, bytes_ + 2 * margin());
    runtime_.fill(stream_, data(), rubbish, bytes_);
  }
  GpuArray(const GpuArray&) = delete;
  GpuArray& operator=(const GpuArray&) = delete;
  ~GpuArray() {
    if (memory_) runtime_.free(0, memory_);
  }

  std::byte* data() const { return memory_ + margin(); }
  size_t bytes() const { return bytes_; }
  void set(const void* from) {
    constexpr size_t kStaged = size_t{64} << 10;  // the driver waits before larger copies
    for (size_t at = 0; at < bytes_; at += kStaged) {
      runtime_.copy_to_gpu(stream_, static_cast<std::byte*>(data()) + at,
                           static_cast<const std::byte*>(from) + at,
                           std::min(kStaged, bytes_ - at));
    }
  }

  // Returns the contents; also checks the margins.
  std::vector<std::byte> read() const {
    std::vector<std::byte> all(bytes_ + 2 * margin());
    runtime_.copy_to_host(stream_, all.data(), memory_, all.size());
    runtime_.synchronize(stream_);
    for (size_t i = 0; i < margin(); ++i) {
      const bool intact =
          all[i] == std::byte{kMarginByte} && all[margin() + bytes_ + i] == std::byte{kMarginByte};
      check<Internal>(intact, "Something was written outside of {} of {} bytes.", name_, bytes_);
    }
    return {all.begin() + static_cast<ptrdiff_t>(margin()),
            all.end() - static_cast<ptrdiff_t>(margin())};
  }

 private:
  Runtime& runtime_;
  RuntimeStream* stream_;
  std::string name_;
  size_t bytes_;
  std::byte* memory_ = nullptr;
};

// One stream for all tests of a runtime.
RuntimeStream* stream() {
  static RuntimeStream* streams[2] = {};
  RuntimeStream*& own = streams[without_libraries > 0 ? 1 : 0];
  if (!own) own = runtime().make_stream(0);
  return own;
}

// The memory for one run of a lowered op.
class OneRun {
 public:
  OneRun(const Lowering& lowering, const std::vector<Tensor>& inputs,
         const std::vector<TensorType>& outputs, int rubbish)
      : lowering_(lowering), inputs_(inputs), types_(outputs) {
    for (const Tensor& input : inputs) {
      in_.push_back(array(fmt::format("input {}", in_.size()), input.bytes(), rubbish));
      in_.back()->set(input.raw());
    }
    for (const TensorType& type : outputs) {
      out_.push_back(array(fmt::format("output {}", out_.size()), type.bytes(), rubbish));
    }
    scratch_ = array("scratch memory", lowering.scratch_bytes(), rubbish);
    status_ = array("the status", 16, 0);
  }
  // No operation may still be pending on memory that is freed.
  ~OneRun() {
    for (bool is_empty = false; !is_empty;) {
      try {
        runtime().synchronize(stream());
        is_empty = true;
      } catch (const Error&) {  // from a step after the one whose error is already propagating
      }
    }
  }
  OneRun(const OneRun&) = delete;
  OneRun& operator=(const OneRun&) = delete;

  void put_output_over_input(const std::pair<int, int>& alias) { alias_ = alias; }

  std::vector<Tensor> run(int64_t first_check) {
    std::vector<KernelCode> codes;
    for (const Step& step : lowering_.steps()) {
      if (const auto* kernel = std::get_if<KernelStep>(&step)) codes.push_back(kernel->code);
    }
    const std::vector<RuntimeFunction*> functions = runtime().load(0, codes);
    size_t next = 0;
    for (const Step& step : lowering_.steps()) {
      if (const auto* kernel = std::get_if<KernelStep>(&step)) {
        launch(*kernel, functions[next++]);
      } else if (const auto* copy = std::get_if<CopyStep>(&step)) {
        const bool moves = address(copy->to) != address(copy->from);
        if (moves) runtime().copy(stream(), address(copy->to), address(copy->from), copy->bytes);
      } else if (const auto* fill = std::get_if<FillStep>(&step)) {
        runtime().fill(stream(), address(fill->to), fill->byte, fill->bytes);
      } else {
        call(std::get<LibraryStep>(step));
      }
    }
    check_status(first_check);
    check_inputs();
    scratch_->read();
    return results();
  }

 private:
  using Array = std::unique_ptr<GpuArray>;

  static Array array(const std::string& name, size_t bytes, int rubbish) {
    return std::make_unique<GpuArray>(stream(), name, bytes, rubbish);
  }

  std::byte* address(const Slot& slot) const {
    switch (slot.kind) {
      case Slot::Kind::Input:
        return in_.at(slot.index)->data() + slot.offset;
      case Slot::Kind::Output: {
        const bool is_over = alias_ && alias_->second == static_cast<int>(slot.index);
        const auto index = is_over ? static_cast<size_t>(alias_->first) : slot.index;
        return (is_over ? in_ : out_).at(index)->data() + slot.offset;
      }
      case Slot::Kind::Scratch:
        return scratch_->data() + slot.offset;
      case Slot::Kind::Status:
        break;
    }
    return status_->data() + slot.offset;
  }

  void launch(const KernelStep& step, RuntimeFunction* function) const {
    std::vector<uint64_t> values;
    for (const Argument& argument : step.arguments) {
      uint64_t value = 0;
      if (const auto* slot = std::get_if<Slot>(&argument)) {
        value = reinterpret_cast<uint64_t>(address(*slot));
      } else if (const auto* integer = std::get_if<int64_t>(&argument)) {
        value = static_cast<uint64_t>(*integer);
      } else {
        std::memcpy(&value, &std::get<double>(argument), sizeof(value));
      }
      values.push_back(value);
    }
    runtime().launch(stream(), function, step.grid, step.block, step.shared_bytes, values);
  }

  void call(const LibraryStep& step) const {
    std::vector<void*> operands;
    for (const Slot& slot : step.operands) operands.push_back(address(slot));
    runtime().run(stream(), *step.kernel, operands, address(step.workspace));
  }

  void check_status(int64_t first_check) const {
    int64_t status[2];
    std::memcpy(status, status_->read().data(), sizeof(status));
    if (status[0] == 0) return;
    const auto number = static_cast<size_t>(status[0] - first_check);
    check<Internal>(number < lowering_.checks().size(), "No check has the number {}.", status[0]);
    lowering_.checks()[number](status[1]);
    raise<Internal>("A value was refused, {}, which its check takes.", status[1]);
  }

  void check_inputs() const {
    for (size_t i = 0; i < in_.size(); ++i) {
      const std::vector<std::byte> now = in_[i]->read();
      if (alias_ && alias_->first == static_cast<int>(i)) continue;
      check<Internal>(std::memcmp(now.data(), inputs_[i].raw(), now.size()) == 0,
                      "Input {} was changed.", i);
    }
  }

  std::vector<Tensor> results() const {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < types_.size(); ++i) {
      const bool is_over = alias_ && alias_->second == static_cast<int>(i);
      const std::vector<std::byte> bytes =
          (is_over ? in_.at(static_cast<size_t>(alias_->first)) : out_.at(i))->read();
      Tensor tensor = Tensor::empty(types_[i].shape, types_[i].dtype);
      if (!bytes.empty()) std::memcpy(tensor.mutable_raw(), bytes.data(), types_[i].bytes());
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  const Lowering& lowering_;
  const std::vector<Tensor>& inputs_;
  const std::vector<TensorType>& types_;
  std::vector<Array> in_;
  std::vector<Array> out_;
  Array scratch_;
  Array status_;
  std::optional<std::pair<int, int>> alias_;
};

void check_same(const std::vector<Tensor>& results, const std::vector<Tensor>& expected,
                const std::string& when) {
  for (size_t i = 0; i < results.size(); ++i) {
    const bool same = results[i].bytes() == 0 ||
                      std::memcmp(results[i].raw(), expected[i].raw(), results[i].bytes()) == 0;
    check<Internal>(same, "Output {} has other bits {}.", i, when);
  }
}

double number_at(const Tensor& tensor, size_t index) {
  return dispatch_dtype(tensor.dtype(), [&]<class T>(T) {
    const T value = tensor.data<T>()[index];
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
    return static_cast<double>(static_cast<float>(value));
  });
}

bool are_close(double value, double expected, double tolerance) {
  if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected);
  if (value == expected) return true;
  return std::abs(value - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

// Compares integers beyond 2^53 by their bits.
bool are_equal_bits(const Tensor& a, const Tensor& b, size_t index) {
  const size_t size = size_of(a.dtype());
  return std::memcmp(static_cast<const std::byte*>(a.raw()) + index * size,
                     static_cast<const std::byte*>(b.raw()) + index * size, size) == 0;
}

void check_close(const Tensor& result, const Tensor& expected, double tolerance) {
  REQUIRE(result.dtype() == expected.dtype());
  REQUIRE(result.shape() == expected.shape());
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < static_cast<size_t>(expected.num_elements()); ++i) {
    const double value = number_at(result, i);
    const double wanted = number_at(expected, i);
    const bool exact = tolerance == 0 && !is_floating(expected.dtype());
    if (exact ? are_equal_bits(result, expected, i) : are_close(value, wanted, tolerance)) continue;
    if (wrong++ == 0) first = fmt::format("[{}]: {:.9g}, not {:.9g}", i, value, wanted);
  }
  CHECK_MESSAGE(wrong == 0,
                wrong << " of " << expected.num_elements() << " differ, the first is " << first);
}

}  // namespace

WithoutLibraries::WithoutLibraries() { ++without_libraries; }
WithoutLibraries::~WithoutLibraries() { --without_libraries; }

bool has_lowering(const std::string& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes, const std::vector<TensorType>& outputs) {
  const std::vector<TensorType> types = types_of(inputs);
  Lowering lowering(runtime(), 0, false);
  return lowering_table().try_lower({op_named(op), attributes, types, outputs}, lowering);
}

std::vector<Tensor> run_lowered(const std::string& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes,
                                const std::vector<TensorType>& outputs) {
  const std::vector<TensorType> types = types_of(inputs);
  std::vector<Tensor> first;
  for (const bool specialize : {false, true}) {
    const int64_t first_check = specialize ? 7 : 1;
    Lowering lowering(runtime(), 0, specialize, first_check);
    lowering_table().lower({op_named(op), attributes, types, outputs}, lowering);
    for (const int rubbish : {0xCD, 0x3A}) {
      const auto results = OneRun(lowering, inputs, outputs, rubbish).run(first_check);
      if (first.empty()) first = results;
      check_same(results, first, specialize ? "specialized" : "in another run");
    }
    for (const std::pair<int, int>& alias : lowering.aliases()) {
      const TensorType& input = types.at(static_cast<size_t>(alias.first));
      if (input.bytes() != outputs.at(static_cast<size_t>(alias.second)).bytes()) continue;
      OneRun run(lowering, inputs, outputs, 0xCD);
      run.put_output_over_input(alias);
      check_same(run.run(first_check), first,
                 fmt::format("where output {} lies over input {}", alias.second, alias.first));
    }
  }
  return first;
}

void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::vector<TensorType>& outputs,
                    double tolerance) {
  CAPTURE(op);
  const std::vector<Tensor> results = run_lowered(op, inputs, attributes, outputs);
  const std::vector<Tensor> expected =
      cpu_backend().execute(op_named(op), inputs, attributes, outputs, Device{});
  for (size_t i = 0; i < outputs.size(); ++i) {
    CAPTURE(i);
    check_close(results[i], expected[i], tolerance);
  }
}

void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, double tolerance) {
  const std::vector<TensorType> types = types_of(inputs);
  check_like_cpu(op, inputs, attributes, op_named(op).infer(types, attributes), tolerance);
}

std::vector<std::string> check_program_like_cpu(const std::function<std::vector<Tensor>()>& program,
                                                double tolerance) {
  const auto run_on = [&](const char* device) {
    const DeviceScope scope(device);
    std::vector<Tensor> results;
    for (const Tensor& result : program()) results.push_back(result.host());
    return results;
  };
  const std::vector<Tensor> expected = run_on("CPU:0");
  register_backend(DeviceType::Gpu, cuda_backend(runtime()));
  std::vector<Tensor> results;
  const auto lines = test::launches_of([&] { results = run_on("GPU:0"); });
  REQUIRE(results.size() == expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    check_close(results[i], expected[i], tolerance);
  }
  return lines;
}

}  // namespace cornu::cuda::testing

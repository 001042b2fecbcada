// SPDX-License-Identifier: Apache-2.0
// Additions by index, always in the order of the updates: README.md.
#include <algorithm>

#include "framework/backends/cuda/kernels/index/place.h"
#include "framework/backends/cuda/kernels/index/update_runs.h"
#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kScatterBlock = 256;                // threads
constexpr int64_t kFewIndices = 1024;                 // that each element compares
constexpr int64_t kFewLooks = int64_t{1} << 26;       // total number of comparisons
constexpr int64_t kShortWalk = 64;                    // updates that one thread adds to memory
constexpr int64_t kEnoughWalkers = int64_t{1} << 14;  // threads that are as fast as sorting

// y[o, index, c] += updates[o, i, c] for all i < length.
class ScatterAdd {
 public:
  // `along`: each update has its own index.
  ScatterAdd(const KernelSpec& spec, bool along, Lowering& to)
      : spec_(spec),
        to_(to),
        along_(along),
        dtype_(spec.outputs[0].dtype),
        index_(spec.inputs[0].dtype),
        y_(spec.outputs[0].shape, spec.attributes.get_int("axis")),
        indices_(spec.inputs[0].shape.num_elements()),
        length_(along ? spec.inputs[0].shape[spec.attributes.get_int("axis")] : indices_),
        code_(add_index_check(spec, index_, spec.outputs[0].shape, spec.attributes.get_int("axis"),
                              to)) {}

  void add() {
    const int64_t elements = spec_.outputs[0].shape.num_elements();
    const int64_t threads = y_.outer * y_.inner;
    if (indices_ == 0) {
      to_.fill(out(0), 0, spec_.outputs[0].bytes());
    } else if (elements == 0) {
      add_index_check_alone(spec_, 0, y_.size, code_, to_);
    } else if (length_ <= kFewIndices && elements <= kFewLooks / length_) {
      launch_threads("few", elements, out(0));
    } else if (length_ <= kShortWalk || (along_ && threads >= kEnoughWalkers)) {
      add_walks(threads);
    } else {
      add_sorted();
    }
  }

 private:
  bool is_narrow() const { return size_of(dtype_) == 2; }
  std::string types() const {
    return define("T", type_name(dtype_)) + define("C", compute_name(dtype_)) +
           define("N", type_name(index_)) + define("ALONG", along_ ? "true" : "false");
  }
  int64_t most_elements() const {
    return std::max(spec_.inputs[1].shape.num_elements(), spec_.outputs[0].shape.num_elements());
  }

  void launch_threads(std::string_view file, int64_t count, Slot into) {
    KernelSizes sizes(to_);
    sizes.add("count", count);
    sizes.add("length", length_);
    sizes.add("size", y_.size);
    sizes.add("inner", y_.inner);
    launch_indexed(to_, spec_.op.name, fmt::format("kernels/index/{}.cu", file),
                   types() + define_index(most_elements()) + sizes.definitions(),
                   blocks_for(count, kScatterBlock), {kScatterBlock},
                   sizes.arguments({in(0), in(1), into, status(), code_}));
  }

  void add_walks(int64_t threads) {
    const int64_t count = spec_.outputs[0].shape.num_elements();
    const size_t bytes = static_cast<size_t>(count) * (is_narrow() ? 4 : size_of(dtype_));
    const Slot sums = is_narrow() ? to_.scratch(bytes) : out(0);
    to_.fill(sums, 0, bytes);
    launch_threads("walk", threads, sums);
    if (!is_narrow()) return;
    to_.launch("narrow", "kernels/index/narrow.cu", define("T", type_name(dtype_)),
               blocks_for(count, kScatterBlock), {kScatterBlock}, {sums, out(0), count});
  }

  void add_sorted() {
    to_.fill(out(0), 0, spec_.outputs[0].bytes());
    const int64_t elements = spec_.outputs[0].shape.num_elements();
    const UpdateRuns runs({.indices = indices_,
                           .outer = along_ ? 1 : y_.outer,
                           .size = along_ ? elements : y_.size,
                           .inner = along_ ? 1 : y_.inner,
                           .dtype = dtype_,
                           .index = index_,
                           .most_elements = most_elements(),
                           .axis = y_.size,
                           .block = along_ ? length_ * y_.inner : indices_,
                           .columns = along_ ? y_.inner : 1,
                           .code = code_},
                          to_);
    runs.add(out(0), UpdateRuns::Rows::OfKeys);
  }

  const KernelSpec& spec_;
  Lowering& to_;
  bool along_;
  DType dtype_;
  DType index_;
  IndexedAxis y_;
  int64_t indices_;
  int64_t length_;  // updates for each o and c
  int64_t code_;
};

bool lower_scatter(const KernelSpec& spec, bool along, Lowering& lowering) {
  if (spec.outputs[0].dtype == DType::Bool) return false;
  ScatterAdd(spec, along, lowering).add();
  return true;
}

}  // namespace

bool lower_scatter_add(const KernelSpec& spec, Lowering& lowering) {
  return lower_scatter(spec, false, lowering);
}
bool lower_put_along_axis_add(const KernelSpec& spec, Lowering& lowering) {
  return lower_scatter(spec, true, lowering);
}

}  // namespace cornu::cuda

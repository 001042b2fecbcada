// SPDX-License-Identifier: Apache-2.0
// Collectives, performed by the group that a run is given.
#include <cstring>
#include <map>

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu {
namespace {

// The tensors of a reduction, grouped by dtype.
class Segments {
 public:
  explicit Segments(std::span<const TensorType> types) : types_(types.begin(), types.end()) {
    for (const TensorType& type : types_) by_dtype_[type.dtype].reserve(types_.size());
  }

  // Calls visit(dtype, segments) for each dtype. Without a group, copies the values, which are the
  // results.
  template <class Visit>
  void each(const KernelArgs& args, Visit visit) {
    for (auto& [dtype, segments] : by_dtype_) segments.clear();
    for (size_t i = 0; i < types_.size(); ++i) {
      if (args.group) {
        by_dtype_[types_[i].dtype].push_back(
            {args.in[i], args.out[i], types_[i].shape.num_elements()});
      } else if (types_[i].bytes() > 0) {
        std::memmove(args.out[i], args.in[i], types_[i].bytes());
      }
    }
    if (!args.group) return;
    for (const auto& [dtype, segments] : by_dtype_) visit(dtype, segments);
  }

 private:
  std::vector<TensorType> types_;
  std::map<DType, std::vector<Segment>> by_dtype_;
};

std::unique_ptr<Kernel> make_all_reduce(const KernelSpec& spec) {
  const ReduceOp op = reduce_op_of(spec);
  return make_kernel([op, segments = Segments(spec.outputs)](const KernelArgs& args) mutable {
    segments.each(args, [&](DType dtype, const std::vector<Segment>& together) {
      args.group->all_reduce(together, dtype, op);
    });
  });
}

// all_reduce_start(x...) -> pending results..., ticket.
std::unique_ptr<Kernel> make_all_reduce_start(const KernelSpec& spec) {
  const ReduceOp op = reduce_op_of(spec);
  const size_t count = spec.inputs.size();
  return make_kernel([op, count, segments = Segments(spec.inputs)](const KernelArgs& args) mutable {
    int64_t ticket = 0;
    segments.each(args, [&](DType dtype, const std::vector<Segment>& together) {
      ticket = args.group->start_all_reduce(together, dtype, op);
    });
    std::memcpy(args.out[count], &ticket, sizeof(ticket));
  });
}

// all_reduce_await(x..., results..., ticket) -> results. x isn't read here: as an operand it stays
// in memory until the other ranks have read it.
std::unique_ptr<Kernel> make_all_reduce_await(const KernelSpec& spec) {
  const size_t count = spec.outputs.size();
  const std::vector<TensorType> types(spec.outputs.begin(), spec.outputs.end());
  auto kernel = make_kernel([count, types](const KernelArgs& args) {
    int64_t ticket = 0;
    std::memcpy(&ticket, args.in[2 * count], sizeof(ticket));
    if (args.group) args.group->await(ticket);
    for (size_t i = 0; i < count; ++i) {
      const void* result = args.in[count + i];
      if (result != args.out[i]) std::memcpy(args.out[i], result, types[i].bytes());
    }
  });
  Aliases aliases;
  for (size_t i = 0; i < count; ++i) {
    aliases.emplace_back(static_cast<int>(count + i), static_cast<int>(i));
  }
  kernel->set_may_alias(std::move(aliases));
  return kernel;
}

}  // namespace

void register_collective_kernels(KernelTable& table) {
  table.add("all_reduce", make_all_reduce);
  table.add("all_reduce_start", make_all_reduce_start);
  table.add("all_reduce_await", make_all_reduce_await);
}

}  // namespace cornu::cpu

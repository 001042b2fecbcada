// SPDX-License-Identifier: Apache-2.0
// Random numbers: element i is computed from words of Philox that depend only on the key and i.
#include <algorithm>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kRandomBlock = 256;  // threads

// The definitions of a kernel of `kind`, and the argument with the offset of its numbers.
struct RandomPlace {
  RandomPlace(const KernelSpec& spec, bool placed, std::string_view kind)
      : definitions(define("T", type_name(spec.outputs[0].dtype)) +
                    define("C", compute_name(spec.outputs[0].dtype)) + define("KIND", kind) +
                    define("PLACED", placed ? "true" : "false")),
        offset(placed ? in(spec.inputs.size() - 1) : in(0)) {}  // unread unless placed

  std::string definitions;
  Slot offset;
};

// Number of bits of a number in [0, 1): at most as many as its significand holds.
std::string_view significand_bits(DType dtype) {
  if (dtype == DType::BFloat16) return "8";
  return dtype == DType::Float16 ? "11" : "24";
}

Lower random_numbers(std::string name, std::string kind) {
  return [name = std::move(name), kind = std::move(kind)](const KernelSpec& spec, Lowering& to) {
    const TensorType& type = spec.outputs[0];
    const bool placed = spec.inputs.size() > 1;
    const RandomPlace place(spec, placed, kind);
    const int64_t count = type.shape.num_elements();
    if (count == 0) return true;
    // One more group of four if the first one is partial.
    const int64_t groups = (count + 3) / 4 + (placed ? 1 : 0);
    to.launch(name, "kernels/random/numbers.cu",
              place.definitions + define("SIGNIFICAND", significand_bits(type.dtype)),
              blocks_for(groups, kRandomBlock), {kRandomBlock},
              {in(0), place.offset, out(0), count});
    return true;
  };
}

bool lower_random_permutation(const KernelSpec& spec, Lowering& to) {
  const int64_t count = spec.attributes.get_int("count");
  if (count == 0) return true;
  const Slot wanted = to.scratch(static_cast<size_t>(count) * sizeof(int32_t));
  const auto threads = static_cast<uint32_t>(std::min<int64_t>(1024, (count + 31) / 32 * 32));
  to.launch("random_permutation", "kernels/random/permutation.cu", "", {}, {threads},
            {in(0), out(0), wanted, count});
  return true;
}

Lower random_draws(size_t parameters) {
  return [parameters](const KernelSpec& spec, Lowering& to) {
    const bool placed = spec.attributes.find("placed") != nullptr;
    const bool is_gamma = parameters == 1;
    const bool is_logarithm = is_gamma && spec.attributes.get_bool("log");
    const RandomPlace place(spec, placed,
                            is_logarithm ? "LOG_GAMMA"
                            : is_gamma   ? "GAMMA"
                                         : "BINOMIAL");
    const int64_t count = spec.outputs[0].shape.num_elements();
    for (size_t i = 1; i <= parameters; ++i) to.may_alias(static_cast<int>(i), 0);
    to.launch(spec.op.name, "kernels/random/distribution.cu", place.definitions,
              blocks_for(count, kRandomBlock), {kRandomBlock},
              {in(0), place.offset, in(1), in(parameters), out(0), count});
    return true;
  };
}

}  // namespace

void register_random(LoweringTable& table) {
  table.add("random_bits", random_numbers("random_bits", "BITS"));
  table.add("random_uniform", random_numbers("random_uniform", "UNIFORM"));
  table.add("random_normal", random_numbers("random_normal", "NORMAL"));
  table.add("random_permutation", lower_random_permutation);
  table.add("random_gamma", random_draws(1));
  table.add("random_binomial", random_draws(2));
}

}  // namespace cornu::cuda

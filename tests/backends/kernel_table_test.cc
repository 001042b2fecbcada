// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "framework/backends/cpu/kernel.h"
#include "framework/graph/cpu_instructions.h"
#include "tests/backends/instruction_sets.h"
#include "tests/support/errors.h"

using namespace cornu;
using namespace cornu::cpu;
using test::message_of;

namespace {

// The error when making a kernel whose factory throws `Thrown`.
template <class Kind, class Thrown>
std::string error_of(const Thrown& thrown) {
  KernelTable table;
  table.add("conv", [&](const KernelSpec&) -> std::unique_ptr<Kernel> { throw thrown; });
  const OpDef op{.name = "conv", .infer = {}, .vjp = {}, .traits = {}};
  const std::vector<TensorType> in = {{DType::Float32, {2, 3}}, {DType::Float32, {3}}};
  const std::vector<TensorType> out = {{DType::Float32, {2, 4}}};
  return message_of<Kind>([&] { table.make({op, {}, in, out}); });
}

}  // namespace

TEST_CASE("what a library throws while a kernel is prepared is an error that names op and shapes") {
  CHECK(error_of<Unimplemented>(std::runtime_error("could not create a primitive")) ==
        "conv: the CPU backend can't prepare it for inputs (float32 (2, 3), float32 (3,)) and "
        "outputs (float32 (2, 4)): could not create a primitive. Use smaller sizes.");
  CHECK(error_of<ResourceExhausted>(std::bad_alloc()) ==
        "conv: out of memory while its kernel was prepared for inputs (float32 (2, 3), float32 "
        "(3,)).");
  CHECK(error_of<InvalidArgument>(InvalidArgument("ours")) == "ours");
}

TEST_CASE("the CPU's instructions are named as its kernels choose them") {
  cpu::testing::for_each_instruction_set([] {
    const std::string chosen = hwy::TargetName(hwy::SupportedTargets());
    CHECK(cpu_instruction_sets().starts_with(chosen + " (oneDNN: "));
  });
}

// SPDX-License-Identifier: Apache-2.0
// The programs that graphs are lowered to: text in, text out.
#include <doctest/doctest.h>

#include <limits>

#include "framework/backends/xla/lowering.h"
#include "tests/support/errors.h"

namespace cornu::xla {
namespace {

ProgramText lowered(const std::string& graph, int replicas = 1) {
  return lower_program(parse_graph(graph), replicas);
}

TEST_CASE("ops are StableHLO's in generic form, with operands broadcast") {
  const ProgramText program = lowered(
      "graph(%0: float32[2,3], %1: float32[3]) {\n"
      "  %2 = add(%0, %1) : float32[2,3]\n"
      "  return %2\n"
      "}");
  CHECK(program.text ==
        "module @cornu {\n"
        "  func.func public @main(%0: tensor<2x3xf32>, %1: tensor<3xf32>) -> (tensor<2x3xf32>) {\n"
        "    %2 = \"stablehlo.broadcast_in_dim\"(%1) {broadcast_dimensions = array<i64: 1>} : "
        "(tensor<3xf32>) -> tensor<2x3xf32>\n"
        "    %3 = \"stablehlo.add\"(%0, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
        "tensor<2x3xf32>\n"
        "    \"func.return\"(%3) : (tensor<2x3xf32>) -> ()\n"
        "  }\n"
        "}\n");
  CHECK(program.refusals.empty());
  CHECK_FALSE(program.communicates);
}

TEST_CASE("what is refused is the last result, and states keep their values then") {
  const ProgramText program = lowered(
      "graph(%0: int32[4]) state(%1 \"w\": float32[3] -> %3) {\n"
      "  %2 = gather(%1, %0) {axis=0} : float32[4]\n"
      "  %3 = scatter_add(%0, %2) {axis=0, shape=[3]} : float32[3]\n"
      "  return %2\n"
      "}");
  CHECK(program.written == std::vector<size_t>{0});
  REQUIRE(program.outputs.size() == 3);
  CHECK(program.outputs[2] == TensorType{DType::Int64, {3}});
  CHECK(program.text.find("%1: tensor<3xf32> {tf.aliasing_output = 1 : i32}") != std::string::npos);
  REQUIRE(program.refusals.size() == 2);
  CHECK(test::message_of<OutOfRange>([&] { program.refusals[0](7, 2); }) ==
        "take: index 7 is outside of [-3, 3), axis 0 of shape (3,). Negative indices count from "
        "the end.");
  CHECK(test::message_of<OutOfRange>([&] { program.refusals[1](7, 2); }).find("scatter_add: ") ==
        0);
}

TEST_CASE("what is computed once more stands behind a barrier") {
  const ProgramText program = lowered(
      "graph(%0: float32[4]) {\n"
      "  %1 = exp(%0) : float32[4]\n"
      "  %2 = optimization_barrier(%0) : float32[4]\n"
      "  %3 = exp(%2) : float32[4]\n"
      "  %4 = add(%1, %3) : float32[4]\n"
      "  return %4\n"
      "}");
  CHECK(program.text.find("\"stablehlo.optimization_barrier\"(%0) : (tensor<4xf32>) -> "
                          "tensor<4xf32>") != std::string::npos);
}

TEST_CASE("replicas reduce by one all_reduce, one replica by none") {
  const std::string graph =
      "graph(%0: float32[2]) {\n"
      "  %1 = all_reduce(%0) {reduce=\"mean\"} : float32[2]\n"
      "  return %1\n"
      "}";
  const ProgramText alone = lowered(graph);
  CHECK(alone.communicates);
  CHECK(alone.text.find("all_reduce") == std::string::npos);
  const ProgramText together = lowered(graph, 3);
  CHECK(together.text.find("replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>") !=
        std::string::npos);
  CHECK(together.text.find("stablehlo.divide") != std::string::npos);
}

TEST_CASE("attention selects what dropout keeps, and where that is nothing multiplies by zero") {
  const auto selections = [](const std::string& dropout) {
    const std::string kept = dropout.empty() ? "" : ", %4";
    const std::string attributes = "bias=false, causal=false, mask=true, scale=0.5" + dropout + "}";
    const ProgramText program = lowered(
        "graph(%0: float32[2,5,4,8], %1: float32[2,7,2,8], %2: float32[2,7,2,8], "
        "%3: bool[2,1,1,7], %4: bool[2,4,5,7]) {\n"
        "  %5, %6 = attention(%0, %1, %2, %3" +
        kept + ") {" + attributes +
        " : float32[2,5,4,8], float32[2,4,5,2]\n"
        "  %7, %8, %9 = attention_grad(%0, %1, %2, %5, %6, %0, %3" +
        kept + ") {bias_gradient=false, " + attributes +
        " : float32[2,5,4,8], float32[2,7,2,8], float32[2,7,2,8]\n"
        "  return %5, %7, %8, %9\n"
        "}");
    int count = 0;
    for (size_t at = program.text.find("\"stablehlo.select\"(%4,"); at != std::string::npos;
         at = program.text.find("\"stablehlo.select\"(%4,", at + 1)) {
      ++count;
    }
    return std::pair(count, program.text.find("dense<1.25>") != std::string::npos);
  };
  CHECK(selections("") == std::pair(0, false));
  CHECK(selections(", dropout=0.2") == std::pair(3, true));
  CHECK(selections(", dropout=1.0") == std::pair(3, false));
}

TEST_CASE("constants of any type are written to the bit") {
  Writer to;
  constant(to, Tensor::from({1.5f, -2.0f}));
  constant(to, Tensor::from({true, false}));
  splat(to, -0.5, {DType::BFloat16, {2}});
  splat(to, std::numeric_limits<double>::infinity(), {DType::Float16, {}});
  splat_int(to, -1, {DType::UInt64, {}});
  CHECK(to.text().find("value = dense<\"0x0000C03F000000C0\"> : tensor<2xf32>") !=
        std::string::npos);
  CHECK(to.text().find("comparison_direction NE") != std::string::npos);
  CHECK(to.text().find("dense<-0.5> : tensor<2xbf16>") != std::string::npos);
  CHECK(to.text().find("dense<0x7C00> : tensor<f16>") != std::string::npos);
  CHECK(to.text().find("dense<18446744073709551615> : tensor<ui64>") != std::string::npos);
}

TEST_CASE("what has no lowering is named, with its types, when it is compiled") {
  const OpDef op{.name = "none", .infer = {}, .vjp = {}, .traits = {}};
  const TensorType type{DType::Float32, {2}};
  const KernelSpec spec{op, {}, {&type, 1}, {&type, 1}};
  Writer to;
  const Value in[] = {to.parameter(type)};
  CHECK(test::message_of<Unimplemented>([&] { lowering_table().lower(spec, in, to); }) ==
        "none: the XLA backend has no kernel for inputs (float32 (2,)). Cast them to float32, or "
        "use another device.");
  CHECK_FALSE(lowering_table().supports(spec));
}

}  // namespace
}  // namespace cornu::xla

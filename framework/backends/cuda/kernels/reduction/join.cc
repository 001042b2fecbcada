// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/reduction/join.h"

#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

std::string identity_of(std::string_view reduction, DType dtype) {
  if (reduction == "SUM") return "0";
  if (reduction == "PRODUCT") return "1";
  const bool largest = reduction == "MAXIMUM";  // starts with the lowest value
  switch (dtype) {
    case DType::Bool:
      return largest ? "false" : "true";
    case DType::UInt8:
      return largest ? "0" : "255";
    case DType::Int8:
      return largest ? "-128" : "127";
    case DType::Int32:
      return largest ? "(-2147483647 - 1)" : "2147483647";
    case DType::Int64:
      return largest ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
    case DType::UInt32:
      return largest ? "0" : "4294967295u";
    case DType::UInt64:
      return largest ? "0" : "18446744073709551615ull";
    default:
      return largest ? "(-CORNU_INFINITY)" : "CORNU_INFINITY";
  }
}

}  // namespace

std::string join_text(std::string_view reduction, DType dtype) {
  const std::string computed = compute_name(dtype);
  const std::string wrapping = is_floating(dtype) ? computed : size_of(dtype) == 8 ? "u64" : "u32";
  return define("SUM", "0") + define("PRODUCT", "1") + define("MAXIMUM", "2") +
         define("MINIMUM", "3") + define("OP", reduction) + define("C", computed) +
         define("U", wrapping) + define("IDENTITY", "((C)" + identity_of(reduction, dtype) + ")") +
         std::string(source("kernels/reduction/groups.cu")) +
         std::string(source("kernels/reduction/join.cu"));
}

}  // namespace cornu::cuda

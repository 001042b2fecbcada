// SPDX-License-Identifier: Apache-2.0
#include "framework/model/dtype_policy.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <string_view>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/model/dtype_policy_json.h"
#include "framework/model/serialized.h"

namespace cornu {
namespace {

constexpr std::string_view kFromPolicy = "_from_";  // in "int8_from_float32"

// Parses the number in "int4/128".
int64_t parse_block_size(const std::string& name, const std::string& text) {
  int64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, size);
  check<InvalidArgument>(error == std::errc() && at == end && (size > 0 || size == -1),
                         "Dtype policy '{}': expected a block size > 0 behind int4/, or -1 for "
                         "none, got '{}'.",
                         printable(name), printable(text));
  return size;
}

// Parses policies such as "int8_from_float32".
DTypePolicy parse_quantized(const std::string& name, size_t from) {
  const size_t slash = std::min(name.find('/'), from);
  const std::string mode = name.substr(0, slash);
  check<Unimplemented>(mode == "int4" || (mode == "int8" && slash == from),
                       "Dtype policy '{}': expected int8 or int4, such as int8_from_float32: other "
                       "modes of quantization aren't available here.",
                       printable(name));
  DTypePolicy policy = DTypePolicy::parse(name.substr(from + kFromPolicy.size()));
  check<InvalidArgument>(policy.quantization_mode.empty() && is_floating(policy.compute) &&
                             (mode != "int8" || policy.compute != DType::Float16),
                         "Dtype policy '{}': {} doesn't go with this policy. Take {}_from_float32 "
                         "or {}_from_mixed_bfloat16.",
                         printable(name), mode, mode, mode);
  policy.quantization_mode = mode;
  if (slash < from) {
    policy.block_size = parse_block_size(name, name.substr(slash + 1, from - slash - 1));
  }
  return policy;
}

// Returns the part of a policy's name before "_from_": "int8", "int4/128".
std::string mode_with_block(const DTypePolicy& policy) {
  return policy.block_size ? fmt::format("{}/{}", policy.quantization_mode, *policy.block_size)
                           : policy.quantization_mode;
}

struct ProgramPolicy {
  std::mutex mutex;
  DTypePolicy policy;
};

ProgramPolicy& program_policy() {
  static auto* const policy = new ProgramPolicy;
  return *policy;
}

}  // namespace

DTypePolicy DTypePolicy::parse(const std::string& name) {
  if (name.empty()) return cornu::dtype_policy();
  if (const size_t from = name.find(kFromPolicy); from != std::string::npos) {
    return parse_quantized(name, from);
  }
  if (name == "mixed_bfloat16") return {DType::BFloat16, DType::Float32};
  if (name == "mixed_float16") return {DType::Float16, DType::Float32};
  const DType dtype = dtype_from_string(name);
  return {dtype, dtype};
}

std::string DTypePolicy::name() const {
  const std::string source =
      compute == variable ? to_string(compute) : std::string("mixed_") + to_string(compute);
  return quantization_mode.empty()
             ? source
             : fmt::format("{}{}{}", mode_with_block(*this), kFromPolicy, source);
}

DTypePolicy dtype_policy() {
  const std::lock_guard lock(program_policy().mutex);
  return program_policy().policy;
}

void set_dtype_policy(const std::string& name) {
  const DTypePolicy policy = DTypePolicy::parse(name);
  check<InvalidArgument>(
      !name.empty() && is_floating(policy.variable) && policy.quantization_mode.empty(),
      "set_dtype_policy: expected a policy of floating-point weights, got '{}'. "
      "Known: float32, float64, float16, bfloat16, mixed_float16, mixed_bfloat16.",
      name);
  const std::lock_guard lock(program_policy().mutex);
  program_policy().policy = policy;
}

Json serialize_dtype_policy(const DTypePolicy& policy) {
  if (policy.quantization_mode.empty()) {
    return serialized_form("keras", "DTypePolicy", Json::object({{"name", policy.name()}}));
  }
  const DTypePolicy source{policy.compute, policy.variable};
  return serialized_form(
      "keras.dtype_policies", policy.block_size ? "Int4DTypePolicy" : "QuantizedDTypePolicy",
      Json::object({{"mode", mode_with_block(policy)}, {"source_name", source.name()}}));
}

std::string dtype_policy_name(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.as_string();
  const Json& config = json.at("config");
  if (const Json* name = config.find("name")) return name->as_string();
  const Json* mode = config.find("mode");
  check<Unimplemented>(mode != nullptr,
                       "Config: expected a dtype policy with a name, such as float32, or with a "
                       "mode of quantization, got {}: maps of policies aren't available here.",
                       json.excerpt());
  const Json* source = config.find("source_name");
  const bool given = source && !source->is_null();
  return fmt::format("{}{}{}", mode->as_string(), kFromPolicy,
                     given ? source->as_string() : dtype_policy().name());
}

}  // namespace cornu

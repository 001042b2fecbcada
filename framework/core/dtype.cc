// SPDX-License-Identifier: Apache-2.0
#include "framework/core/dtype.h"

#include <array>
#include <bit>
#include <cstring>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu {
namespace {

struct Info {
  const char* name;
  size_t size;
  bool floating;
  bool integer;
  bool is_signed;
};

constexpr std::array<Info, kNumDTypes + 1> kInfo = {{
    {"bool", 1, false, false, false},
    {"uint8", 1, false, true, false},
    {"int8", 1, false, true, true},
    {"int32", 4, false, true, true},
    {"int64", 8, false, true, true},
    {"uint32", 4, false, true, false},
    {"uint64", 8, false, true, false},
    {"float16", 2, true, false, true},
    {"bfloat16", 2, true, false, true},
    {"float32", 4, true, false, true},
    {"float64", 8, true, false, true},
    {"string", sizeof(std::string), false, false, false},
}};

const Info& info(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

}  // namespace

bfloat16::bfloat16(float value) {
  uint32_t word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<uint16_t>((word >> 16) | 0x40u);  // keep NaN a NaN
    return;
  }
  word += 0x7fffu + ((word >> 16) & 1u);  // round to nearest even
  bits = static_cast<uint16_t>(word >> 16);
}

bfloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float16::float16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16) & 0x8000u;
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = static_cast<uint16_t>(sign | 0x7e00u);
  } else if (magnitude >= 0x477ff000u) {  // rounds to infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal: let float addition round to the last place
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
  } else {
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}

float16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

const char* to_string(DType dtype) { return info(dtype).name; }

DType dtype_from_string(std::string_view name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (name == kInfo[i].name) return static_cast<DType>(i);
    known.emplace_back(kInfo[i].name);
  }
  raise<InvalidArgument>("Unknown dtype '{}'.{}", name, did_you_mean(name, known));
}

DType dtype_from_string(const char* name) {
  return dtype_from_string(std::string_view(given_text(name, "dtype")));
}

DTypeName::DTypeName(const char* name) : std::string(given_text(name, "dtype")) {}

size_t size_of(DType dtype) { return info(dtype).size; }
bool is_floating(DType dtype) { return info(dtype).floating; }
bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }
bool is_integer(DType dtype) { return info(dtype).integer; }
bool is_signed(DType dtype) { return info(dtype).is_signed; }

DType promote(DType a, DType b) {
  if (a == b) return a;
  check<InvalidArgument>(a != DType::String && b != DType::String,
                         "Expected tensors of numbers or of strings, got {} and {}.", a, b);
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  const Info& x = info(a);
  const Info& y = info(b);
  if (x.floating != y.floating) return x.floating ? a : b;
  if (x.floating) return x.size == y.size ? DType::Float32 : (x.size > y.size ? a : b);
  if (x.is_signed == y.is_signed) return x.size > y.size ? a : b;
  const DType with_sign = x.is_signed ? a : b;
  const DType without = x.is_signed ? b : a;
  if (size_of(with_sign) > size_of(without)) return with_sign;
  if (without == DType::UInt8) return DType::Int32;  // for int8 with uint8; there is no int16
  return without == DType::UInt32 ? DType::Int64 : DType::Float32;
}

void internal::refuse_strings() {
  raise<InvalidArgument>(
      "Expected a dtype of numbers, got string. Strings are for input pipelines: make numbers of "
      "them there, for example in Dataset::map.");
}

}  // namespace cornu

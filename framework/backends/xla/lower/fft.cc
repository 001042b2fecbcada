// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of the last axis.
#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

// 16-bit floats are converted to float32.
Value wide_part(Writer& to, const Value& x) {
  return is_half(x.dtype()) ? convert(to, x, DType::Float32) : x;
}

Value transform(Writer& to, const char* type, const Value& x, const TensorType& result) {
  const int64_t length[] = {x.shape().back()};
  return to.complex_op(
      "stablehlo.fft", {x}, result, true,
      fmt::format("fft_type = #stablehlo<fft_type {}>, fft_length = {}", type, array_text(length)));
}

Values parts_of(Writer& to, const Value& x, DType dtype) {
  return {convert(to, to.complex_op("stablehlo.real", {x}, x.type, false), dtype),
          convert(to, to.complex_op("stablehlo.imag", {x}, x.type, false), dtype)};
}

// Not divided by the length, unlike StableHLO's inverse.
Values lower_fft(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const DType dtype = in[0].dtype();
  if (in[0].shape().num_elements() == 0) return {in[0], in[1]};
  const bool inverse = spec.attributes.get_bool("inverse");
  const Value real = wide_part(to, in[0]);
  const Value x = to.complex_op("stablehlo.complex", {real, wide_part(to, in[1])}, real.type, true);
  const Value y = transform(to, inverse ? "IFFT" : "FFT", x, real.type);
  if (!inverse) return parts_of(to, y, dtype);
  Values results = parts_of(to, y, real.dtype());
  for (Value& part : results) {
    const auto length = static_cast<double>(part.shape().back());
    part = convert(to, multiply(to, part, like(to, length, part)), dtype);
  }
  return results;
}

Values lower_rfft(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const DType dtype = in[0].dtype();
  if (in[0].shape().num_elements() == 0) {
    return {splat(to, 0, spec.outputs[0]), splat(to, 0, spec.outputs[1])};
  }
  const Value x = wide_part(to, in[0]);
  return parts_of(to, transform(to, "RFFT", x, {x.dtype(), spec.outputs[0].shape}), dtype);
}

}  // namespace

void register_fft(LoweringTable& table) {
  table.add("fft", lower_fft);
  table.add("rfft", lower_rfft);
}

}  // namespace cornu::xla

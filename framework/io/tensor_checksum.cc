// SPDX-License-Identifier: Apache-2.0
#include "framework/io/tensor_checksum.h"

#include <cstdint>
#include <span>

#include "framework/io/crc.h"

namespace cornu {

std::string checksum_of_values(const Tensor& tensor) {
  const Tensor values = tensor.host();
  uint32_t sum = 0;
  if (values.dtype() == DType::String) {
    for (const std::string& text : values.data<std::string>()) {
      const uint64_t size = text.size();
      sum = crc32c(std::as_bytes(std::span(&size, 1)), sum);
      sum = crc32c(std::as_bytes(std::span(text)), sum);
    }
  } else if (values.bytes() > 0) {
    sum = crc32c({values.raw(), values.bytes()}, sum);
  }
  return fmt::format("crc32c {:08x}", sum);
}

}  // namespace cornu

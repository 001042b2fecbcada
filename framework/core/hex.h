// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cornu {

// Returns lowercase digits, two per byte.
std::string to_hex(std::span<const std::byte> bytes);

// Fills `bytes`. Returns false unless there are exactly two lowercase digits per byte.
bool from_hex(std::string_view digits, std::span<std::byte> bytes);

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cornu {

// In lower case, two digits a byte.
std::string to_hex(std::span<const std::byte> bytes);

// Fills `bytes`. False unless there are two digits in lower case for each.
bool from_hex(std::string_view digits, std::span<std::byte> bytes);

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// Hashes of strings, and of numbers as the decimal text they are written as. Internal: layers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "framework/core/tensor.h"

namespace cornu::layers {

// The key of a strong hash.
using HashKey = std::array<uint64_t, 2>;

// Fingerprint64 of FarmHash (github.com/google/farmhash), which TensorFlow's "fast" buckets are
// made by.
uint64_t fingerprint64(std::string_view text);
// SipHash-2-4 (Aumasson, Bernstein: SipHash, 2012), which its "strong" ones are made by.
uint64_t sip_hash(std::string_view text, const HashKey& key);

// uint64, of each element: by sip_hash where there is a key, else fingerprint64. Of strings, on the
// host; of integers, by ops of the text that they are printed as, so that they may be traced.
// InvalidArgument of other dtypes.
Tensor hash_elements(const Tensor& x, const std::optional<HashKey>& key = {});

// TensorFlow's fingerprint of two fingerprints, uint64, one after the other.
Tensor join_fingerprints(const Tensor& a, const Tensor& b);

}  // namespace cornu::layers

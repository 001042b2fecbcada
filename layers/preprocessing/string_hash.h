// SPDX-License-Identifier: Apache-2.0
// Hashes of strings, and of the decimal text of numbers. Internal: layers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "framework/core/tensor.h"

namespace cornu::layers {

// The key of a keyed hash.
using HashKey = std::array<uint64_t, 2>;

// Fingerprint64 of FarmHash (github.com/google/farmhash), used by TensorFlow's "fast" hash buckets.
uint64_t fingerprint64(std::string_view text);
// SipHash-2-4 (Aumasson, Bernstein: SipHash, 2012), used by TensorFlow's "strong" hash buckets.
uint64_t sip_hash(std::string_view text, const HashKey& key);

// Returns a uint64 hash of each element: by sip_hash with a key, otherwise by fingerprint64.
// Strings are hashed on the host, integers by ops on their decimal text, so that this can be
// traced. Throws InvalidArgument for other dtypes.
Tensor hash_elements(const Tensor& x, const std::optional<HashKey>& key = {});

// TensorFlow's combination of two fingerprints, uint64, in this order.
Tensor join_fingerprints(const Tensor& a, const Tensor& b);

}  // namespace cornu::layers

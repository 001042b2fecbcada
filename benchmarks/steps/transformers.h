// SPDX-License-Identifier: Apache-2.0
// The measured transformer networks.
#pragma once

#include <cornu/cornu.h>

namespace cornu::benchmarks {

inline constexpr int64_t kVocabulary = 65;  // characters

// Encoder blocks on (length, 512): 8 heads of 64, feed-forward 2048, post-normalization (Vaswani et
// al. 2017), and ten classes from the mean.
Model encoder(int blocks, int64_t length);
// A character-level decoder: 6 blocks of 6 heads of 64, feed-forward 1536, pre-normalization
// (Radford et al. 2019), on sequences of 256.
Model gpt();

}  // namespace cornu::benchmarks

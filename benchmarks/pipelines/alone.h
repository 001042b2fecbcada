// SPDX-License-Identifier: Apache-2.0
// Measurements of pipelines without peers.
#pragma once

#include <functional>
#include <string>

namespace cornu::benchmarks {

// A function that takes one round of a work and prints a line; empty for a name that is none:
//   map_scaling: a costly function on the host, microseconds an element with 1, 2 and 4 calls and
//     with AUTOTUNE, and the time of 1 call over each of the others
//   cnn_step: an epoch of the MNIST CNN, microseconds a step: fit with arrays; with shuffle, map on
//     several threads, batch and prefetch; and the second over the first
std::function<void()> alone(const std::string& work);

// The same of works on files, which it makes in `folder`:
//   shuffle_memory: bytes an element of a shuffle of 20,000,000 rows in memory (no files)
//   folder: 100,000 pictures, shuffled: seconds to the first batch; to read nine tenths of a pass,
//     to restore that position, and the second of these over the first
//   records: the same three of 100,000 records that are shuffled by 1,000, and by 10,000
std::function<void()> limit(const std::string& work, const std::string& folder);

}  // namespace cornu::benchmarks

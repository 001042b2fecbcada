// SPDX-License-Identifier: Apache-2.0
// Pipeline measurements without a peer to compare with.
#pragma once

#include <functional>
#include <string>

namespace cornu::benchmarks {

// Returns a function that runs one round of a workload and prints a line; empty for an unknown
// name:
//   map_scaling: a costly function on the host, microseconds per element with 1, 2 and 4 calls and
//     with AUTOTUNE, and the ratio of the time with 1 call to each of the others
//   cnn_step: an epoch of the MNIST CNN, microseconds per step: fit with arrays; with shuffle, map
//     on several threads, batch and prefetch; and the ratio of the second to the first
std::function<void()> alone(const std::string& work);

// The same for workloads on files, which are created in `folder`:
//   shuffle_memory: bytes per element of shuffling 20,000,000 rows in memory (no files)
//   folder: 100,000 pictures, shuffled: seconds to the first batch; to read nine tenths of a pass,
//     to restore that position, and the ratio of the last to the one before
//   records: the same three for 100,000 records shuffled with a buffer of 1,000, and of 10,000
std::function<void()> limit(const std::string& work, const std::string& folder);

}  // namespace cornu::benchmarks

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

}  // namespace cornu::benchmarks

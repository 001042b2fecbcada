// SPDX-License-Identifier: Apache-2.0
// Reports where an input pipeline spends its time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornu::data {

// One transform of a pipeline. Times are in seconds, summed over all threads.
struct StageStatistics {
  std::string name;         // "batch(64)"
  std::string place;        // position in the pipeline; unique among stages
  int64_t depth = 0;        // number of joins of several datasets (zip, …) between it and the end
  int64_t elements = 0;     // yielded
  double working = 0;       // its own work, excluding that of its inputs
  double input = 0;         // waiting for its inputs' elements
  double starved = 0;       // its consumer waited for elements made in advance: the stage is too
                            // slow
  double ahead = 0;         // its thread waited for room in its buffer: the consumer is slower
  double buffered = 0;      // average number of elements ready when one was requested
  int64_t buffer_size = 0;  // final capacity of the buffer; 0: no buffer
  int64_t parallelism = 0;  // maximum number of threads at work at a time
};

// Measurements of one pass, or of several. A snapshot.
struct Statistics {
  std::vector<StageStatistics> stages;  // sources first
  int64_t passes = 0;
  double seconds = 0;  // from the request for the first element until the last one is there
  double waited = 0;   // part of it that the consumer spent waiting for elements

  // The stage that holds up all others: the one with the most work per thread. Null when the
  // consumer is slower than the pipeline (it waited less than 1/20 of the time), or when nothing
  // was measured.
  const StageStatistics* bottleneck() const;
  // A table of the stages, and a line that names the bottleneck. Ends with a newline.
  std::string to_string() const;

  // Adds the statistics of other passes.
  void add(const Statistics& other);
};

}  // namespace cornu::data

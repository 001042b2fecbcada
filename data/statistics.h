// SPDX-License-Identifier: Apache-2.0
// Where an input pipeline spends its time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornu::data {

// One transform of a pipeline. Times are in seconds, summed over all threads.
struct StageStatistics {
  std::string name;         // "batch(64)"
  std::string place;        // where in the pipeline, told apart from other stages
  int64_t depth = 0;        // joins of several datasets (zip, …) between it and the end
  int64_t elements = 0;     // given
  double working = 0;       // its own work, without that of its inputs
  double input = 0;         // waiting for its inputs' elements
  double starved = 0;       // its consumer waited for what it makes ahead: it is too slow
  double ahead = 0;         // its thread waited for room in its buffer: the consumer is slower
  double buffered = 0;      // elements made ahead when one was asked for, on average
  int64_t buffer_size = 0;  // for how many there is room at last; 0: no buffer
  int64_t parallelism = 0;  // the most that worked at a time
};

// What was measured of one pass, or of several. A snapshot.
struct Statistics {
  std::vector<StageStatistics> stages;  // sources first
  int64_t passes = 0;
  double seconds = 0;  // from the first element's being asked for to the last one's being there
  double waited = 0;   // of these, the consumer's waiting for elements

  // The stage that holds up all others: the one with most work for each of its threads. Null when
  // the consumer is slower than the pipeline (it waited less than a 20th of the time), or nothing
  // was measured.
  const StageStatistics* bottleneck() const;
  // A table of the stages, and a line that names the bottleneck. Ends with a line break.
  std::string to_string() const;

  // Adds those of other passes.
  void add(const Statistics& other);
};

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
#include "data/statistics.h"

#include <fmt/format.h>

#include <algorithm>

namespace cornu::data {
namespace {

constexpr double kNoticeable = 0.05;  // of the time

double work_of_a_thread(const StageStatistics& stage) {
  return stage.working / static_cast<double>(std::max<int64_t>(1, stage.parallelism));
}

std::string time_text(double seconds) { return seconds > 0 ? fmt::format("{:.3f}", seconds) : "-"; }

std::string buffer_text(const StageStatistics& stage) {
  if (stage.buffer_size == 0) return "-";
  return fmt::format("{:.1f}/{}", stage.buffered, stage.buffer_size);
}

using Cells = std::vector<std::string>;

Cells cells_of(const StageStatistics& stage, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(stage.elements) / seconds : 0;
  return {std::string(static_cast<size_t>(2 * stage.depth), ' ') + stage.name,
          std::to_string(stage.elements),
          fmt::format("{:.0f}", rate),
          time_text(stage.working),
          time_text(stage.input),
          time_text(stage.starved),
          time_text(stage.ahead),
          buffer_text(stage),
          stage.parallelism > 0 ? std::to_string(stage.parallelism) : "-"};
}

std::string table_of(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

}  // namespace

const StageStatistics* Statistics::bottleneck() const {
  if (waited < kNoticeable * seconds) return nullptr;
  const auto slowest =
      std::max_element(stages.begin(), stages.end(), [](const auto& one, const auto& other) {
        return work_of_a_thread(one) < work_of_a_thread(other);
      });
  return slowest == stages.end() || slowest->working <= 0 ? nullptr : &*slowest;
}

std::string Statistics::to_string() const {
  if (stages.empty()) {
    return "No pass was measured: set Options.statistics, or CORNU_DATA_STATS=1.\n";
  }
  std::vector<Cells> rows = {{"stage", "elements", "per second", "working", "input", "starved",
                              "ahead", "buffer", "parallel"}};
  for (const StageStatistics& stage : stages) rows.push_back(cells_of(stage, seconds));
  const double part = seconds > 0 ? 100 * waited / seconds : 0;
  const StageStatistics* slowest = bottleneck();
  return table_of(rows) + fmt::format(
                              "{} {}, {:.3f} s, of which the consumer waited {:.3f} s ({:.0f} %); "
                              "bottleneck: {}\n",
                              passes, passes == 1 ? "pass" : "passes", seconds, waited, part,
                              slowest ? slowest->name : "none, elements were there when asked for");
}

void Statistics::add(const Statistics& other) {
  for (const StageStatistics& theirs : other.stages) {
    const auto ours = std::find_if(stages.begin(), stages.end(),
                                   [&](const auto& stage) { return stage.place == theirs.place; });
    if (ours == stages.end()) {
      stages.push_back(theirs);
      continue;
    }
    const auto count = static_cast<double>(ours->elements + theirs.elements);
    if (count > 0) {
      ours->buffered = (ours->buffered * static_cast<double>(ours->elements) +
                        theirs.buffered * static_cast<double>(theirs.elements)) /
                       count;
    }
    ours->elements += theirs.elements;
    ours->working += theirs.working;
    ours->input += theirs.input;
    ours->starved += theirs.starved;
    ours->ahead += theirs.ahead;
    ours->buffer_size = theirs.buffer_size;
    ours->parallelism = std::max(ours->parallelism, theirs.parallelism);
  }
  passes += other.passes;
  seconds += other.seconds;
  waited += other.waited;
}

}  // namespace cornu::data

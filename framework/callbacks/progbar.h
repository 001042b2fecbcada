// SPDX-License-Identifier: Apache-2.0
// The progress bar (keras.utils.Progbar).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/callbacks/logs.h"
#include "framework/core/optional_list.h"

namespace cornu {

// Arguments of Progbar, in Keras's order.
struct ProgbarOptions {
  std::optional<int64_t> target = {};  // number of steps; nullopt: unknown
  int width = 20;                      // of the bar, in characters
  int verbose = 1;                     // 0: silent, 1: a bar, 2: one line at the end
  double interval = 0.05;              // minimum seconds between updates
  // Metrics to display as they are, while the others are averaged over the steps; or the reverse.
  // At most one of the two may be set, InvalidArgument otherwise. If neither is, all metrics are
  // averaged.
  OptionalList<std::string> stateful_metrics = {};
  OptionalList<std::string> stateless_metrics = {};
  std::string unit_name = "step";
};

// How a bar with verbose = 1 is drawn.
enum class ProgbarDisplay {
  Auto,    // Redraw on a terminal, Final elsewhere
  Redraw,  // each update replaces the previous one (control bytes and colors)
  Lines,   // each update is a new line (colors)
  Final,   // only the last update, as plain text
};

// Where and how a bar is drawn.
struct ProgbarOutput {
  ProgbarDisplay display = ProgbarDisplay::Auto;
  std::function<void(std::string_view)> write = {};  // empty: standard output
  std::function<double()> clock = {};                // seconds; empty: a steady clock
  // The width of the output; longer lines are truncated when they are redrawn. Empty: the
  // terminal's if `write` is standard output, otherwise unlimited.
  std::function<int64_t()> columns = {};
};

// A progress bar with metrics, which prints exactly the same text as Keras. An update that draws
// nothing costs little more than reading the clock. Not thread-safe.
class Progbar {
 public:
  explicit Progbar(const ProgbarOptions& options, ProgbarOutput output = {});

  // Sets the number of completed steps to `current`. `values` are those of the last step.
  // `finalize`: whether this is the last update; nullopt: when the target is reached.
  void update(int64_t current, const Logs& values = {}, std::optional<bool> finalize = {});
  // Adds `n` completed steps.
  void add(int64_t n, const Logs& values = {}) { update(seen_ + n, values); }
  void set_target(int64_t target) { options_.target = target; }

 private:
  struct Figure {
    std::string name;
    bool averaged;
    double sum = 0;
    int64_t count = 0;
  };
  struct Line;

  void keep(const Logs& values, int64_t current, bool finalize);
  Figure& figure(const std::string& name);
  double step_duration(int64_t current, double now);
  void draw(int64_t current, double now, double duration, bool finalize);
  void write_line(int64_t current, double now, double duration);
  void append_figures(std::string& text, bool by_magnitude) const;

  ProgbarOptions options_;
  ProgbarOutput output_;
  std::vector<Figure> figures_;
  int64_t seen_ = 0;
  double start_;
  double last_drawing_;
  std::optional<double> first_step_end_;
  int64_t drawn_width_ = 0;
};

}  // namespace cornu

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
  std::optional<int64_t> target = {};  // how many steps there are; None: unknown
  int width = 20;                      // of the bar, in characters
  int verbose = 1;                     // 0 silent, 1 a bar, 2 one line at the end
  double interval = 0.05;              // least seconds between two drawings
  // Metrics shown as they come; the others are averaged over the steps. Or the other way round.
  // At most one of the two: InvalidArgument otherwise. None: all are averaged.
  OptionalList<std::string> stateful_metrics = {};
  OptionalList<std::string> stateless_metrics = {};
  std::string unit_name = "step";
};

// What a bar of verbose = 1 draws.
enum class ProgbarDisplay {
  Auto,    // Redraw on a terminal, Final elsewhere
  Redraw,  // every drawing in place of the one before (control bytes and colours)
  Lines,   // every drawing on a new line (colours)
  Final,   // the last one only, as plain text
};

// Where and how a bar draws.
struct ProgbarOutput {
  ProgbarDisplay display = ProgbarDisplay::Auto;
  std::function<void(std::string_view)> write = {};  // None: standard output
  std::function<double()> clock = {};                // seconds; None: a steady clock
  // The width of what it writes to; a longer line that is redrawn is cut. None: the terminal's
  // where `write` is standard output, else no limit.
  std::function<int64_t()> columns = {};
};

// A bar over counted steps, with metrics: text for text what Keras prints. An update that draws
// nothing costs little more than reading the clock. Not thread-safe.
class Progbar {
 public:
  explicit Progbar(const ProgbarOptions& options, ProgbarOutput output = {});

  // `current` steps are done. `values` are those of the last step. `finalize`: whether this is the
  // last update; None: when the target is reached.
  void update(int64_t current, const Logs& values = {}, std::optional<bool> finalize = {});
  // `n` more steps are done.
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

// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/progbar.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "framework/core/error.h"
#include "framework/io/console.h"

namespace cornu {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kWhite = "\x1b[37m";
constexpr std::string_view kReset = "\x1b[0m";

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string bar_piece(int64_t length) {
  std::string text;
  for (int64_t i = 0; i < length; ++i) text += "━";
  return text;
}

// "  12/1875"
std::string counted(int64_t current, int64_t target) {
  const int digits = static_cast<int>(std::log10(static_cast<double>(target))) + 1;
  return fmt::format("{:{}d}/{}", current, digits, target);
}

std::string duration_text(double seconds) {
  if (seconds > 3600) {
    return fmt::format("{}:{:02d}:{:02d}", static_cast<int64_t>(seconds / 3600),
                       static_cast<int64_t>(std::fmod(seconds, 3600) / 60),
                       static_cast<int64_t>(std::fmod(seconds, 60)));
  }
  if (seconds > 60) {
    return fmt::format("{}:{:02d}", static_cast<int64_t>(seconds / 60),
                       static_cast<int64_t>(std::fmod(seconds, 60)));
  }
  return fmt::format("{}s", static_cast<int64_t>(seconds));
}

std::string step_text(double seconds, const std::string& unit) {
  if (seconds >= 1 || seconds == 0) return fmt::format(" {:.0f}s/{}", seconds, unit);
  if (seconds >= 1e-3) return fmt::format(" {:.0f}ms/{}", seconds * 1e3, unit);
  return fmt::format(" {:.0f}us/{}", seconds * 1e6, unit);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

// A line being drawn: its text, and its width on the screen.
struct Progbar::Line {
  bool styled;
  int64_t limit;
  std::string text = {};
  int64_t width = 0;

  void add(std::string_view plain) {
    for (char c : plain) {
      width += (c & 0xC0) != 0x80;  // counts characters, not bytes
      if (width <= limit) text += c;
    }
    width = std::min(width, limit);
  }
  void add(std::string_view style, std::string_view plain) {
    if (styled) text += style;
    add(plain);
    if (styled) text += kReset;
  }
};

Progbar::Progbar(const ProgbarOptions& options, ProgbarOutput output)
    : options_(options), output_(std::move(output)) {
  check<InvalidArgument>(!options.stateful_metrics || !options.stateless_metrics,
                         "Progbar: stateful_metrics and stateless_metrics were both given. Give "
                         "one: the metrics it doesn't name are of the other kind.");
  if (!output_.write) {
    output_.write = console::write;
    if (!output_.columns) output_.columns = console::columns;
  }
  if (!output_.clock) output_.clock = steady_seconds;
  if (output_.display == ProgbarDisplay::Auto) {
    output_.display = console::is_terminal() ? ProgbarDisplay::Redraw : ProgbarDisplay::Final;
  }
  start_ = output_.clock();
  last_drawing_ = -std::numeric_limits<double>::infinity();
}

Progbar::Figure& Progbar::figure(const std::string& name) {
  for (Figure& known : figures_) {
    if (known.name == name) return known;
  }
  bool averaged = true;
  if (options_.stateful_metrics) averaged = !contains(*options_.stateful_metrics, name);
  if (options_.stateless_metrics) averaged = contains(*options_.stateless_metrics, name);
  return figures_.emplace_back(Figure{name, averaged});
}

void Progbar::keep(const Logs& values, int64_t current, bool finalize) {
  const int64_t steps = std::max<int64_t>(current - seen_, 1);
  for (const auto& [name, value] : values) {
    Figure& kept = figure(name);
    if (kept.averaged && !finalize) {
      kept.sum += value * static_cast<double>(steps);
      kept.count += steps;
    } else {
      kept.sum = value;  // the last update has the epoch's own average
      kept.count = 1;
    }
  }
  seen_ = current;
}

// The first step, which includes compilation, isn't counted if there are others.
double Progbar::step_duration(int64_t current, double now) {
  if (current == 0) return 0;
  const double duration = first_step_end_ && current > 1
                              ? (now - *first_step_end_) / static_cast<double>(current - 1)
                              : (now - start_) / static_cast<double>(current);
  if (current == 1) first_step_end_ = now;
  return duration;
}

void Progbar::update(int64_t current, const Logs& values, std::optional<bool> finalize) {
  const bool last = finalize.value_or(options_.target && current >= *options_.target);
  keep(values, current, last);
  const double now = output_.clock();
  const double duration = step_duration(current, now);
  if (!last && (options_.verbose != 1 || output_.display == ProgbarDisplay::Final ||
                now - last_drawing_ < options_.interval)) {
    return;
  }
  if (options_.verbose == 1) {
    draw(current, now, duration, last);
  } else if (options_.verbose == 2) {
    write_line(current, now, duration);
  }
  last_drawing_ = now;
}

void Progbar::append_figures(std::string& text, bool by_magnitude) const {
  for (const Figure& figure : figures_) {
    const double value = figure.sum / static_cast<double>(std::max<int64_t>(1, figure.count));
    const bool fixed = (by_magnitude ? std::abs(value) : value) > 1e-3;
    text += fixed ? fmt::format(" - {}: {:.4f}", figure.name, value)
                  : fmt::format(" - {}: {:.4e}", figure.name, value);
  }
}

void Progbar::draw(int64_t current, double now, double duration, bool finalize) {
  const ProgbarDisplay display = output_.display;
  const int64_t target = options_.target.value_or(0);
  // A line that wraps can't be overwritten: it would be repeated at each update.
  const bool cut = display == ProgbarDisplay::Redraw && !finalize && output_.columns;
  Line line{.styled = display != ProgbarDisplay::Final,
            .limit = cut ? output_.columns() - 1 : std::numeric_limits<int64_t>::max()};
  if (target > 0) {
    const double done = static_cast<double>(current) / static_cast<double>(target);
    const auto length = static_cast<int64_t>(static_cast<double>(options_.width) * done);
    line.add(kBold, counted(current, target));
    line.add(" ");
    if (length > 0) line.add(kGreen, bar_piece(length));
    line.add(kWhite, bar_piece(options_.width - length));
  } else {
    line.add(fmt::format("{:7d}/Unknown", current));
  }
  line.add(" ");
  line.add(kBold, target > 0 && !finalize
                      ? duration_text(duration * static_cast<double>(target - current))
                      : fmt::format("{:.0f}s", now - start_));
  std::string figures = step_text(duration, options_.unit_name);
  append_figures(figures, true);
  line.add(figures);

  std::string text;
  if (display == ProgbarDisplay::Redraw) {
    text.append(static_cast<size_t>(drawn_width_), '\b').append("\r");
  } else if (display == ProgbarDisplay::Lines) {
    text = "\n";
  }
  text += line.text;
  if (display != ProgbarDisplay::Final && drawn_width_ > line.width) {
    text.append(static_cast<size_t>(drawn_width_ - line.width), ' ');
  }
  if (finalize) text += "\n";
  output_.write(text);
  drawn_width_ = line.width;
}

void Progbar::write_line(int64_t current, double now, double duration) {
  if (options_.target.value_or(0) <= 0) return;
  std::string text = fmt::format("{} - {:.0f}s -{}", counted(current, *options_.target),
                                 now - start_, step_text(duration, options_.unit_name));
  append_figures(text, false);
  output_.write(text + "\n");
}

}  // namespace cornu

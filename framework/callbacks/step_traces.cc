// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/step_traces.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/core/proto_wire.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/event_file.h"
#include "framework/io/gzip.h"

namespace cornu::callbacks {
namespace {

using Clock = ProgramRun::Clock;

// Calls visit(instruction, begin, end) for each instruction of a run.
template <class Visit>
void each_instruction(const ProgramRun& run, Visit visit) {
  Clock::time_point begin = run.begin;
  for (size_t i = 0; i < run.ends.size(); ++i) {
    visit(run.program->instructions[i], begin, run.ends[i]);
    begin = run.ends[i];
  }
}

Clock::time_point first_of(std::span<const ProgramRun> runs, std::span<const StepSpan> steps) {
  Clock::time_point first = Clock::time_point::max();
  for (const ProgramRun& run : runs) first = std::min(first, run.begin);
  for (const StepSpan& step : steps) first = std::min(first, step.begin);
  return first;
}

int64_t most_replicas(std::span<const ProgramRun> runs) {
  int64_t count = 0;
  for (const ProgramRun& run : runs) count = std::max(count, run.replica + 1);
  return count;
}

double seconds_of(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double gflops_of(const ProgramInstruction& instruction, Clock::duration duration) {
  const double seconds = seconds_of(duration);
  return seconds > 0 ? instruction.flops / seconds * 1e-9 : 0;
}

// ---- trace events ----

Json named_row(const char* kind, int64_t row, const std::string& name) {
  return Json::object({{"ph", "M"},
                       {"pid", 1},
                       {"tid", row},
                       {"name", kind},
                       {"args", Json::object({{"name", name}})}});
}

class TraceEvents {
 public:
  explicit TraceEvents(Clock::time_point first) : first_(first) {
    events_.push_back(named_row("process_name", 0, "cornu"));
  }
  void name_row(int64_t row, const std::string& name) {
    events_.push_back(named_row("thread_name", row, name));
  }
  void add(int64_t row, const std::string& name, Clock::time_point begin, Clock::time_point end,
           Json arguments) {
    events_.push_back(Json::object({{"ph", "X"},
                                    {"pid", 1},
                                    {"tid", row},
                                    {"ts", 1e6 * seconds_of(begin - first_)},
                                    {"dur", 1e6 * seconds_of(end - begin)},
                                    {"name", name},
                                    {"args", std::move(arguments)}}));
  }
  std::string text() && {
    return Json::object({{"displayTimeUnit", "ms"}, {"traceEvents", Json(std::move(events_))}})
        .dump();
  }

 private:
  Clock::time_point first_;
  Json::Array events_;
};

// ---- tensorflow.profiler.XSpace ----

// The distinct names in a plane, by number: its event_metadata or stat_metadata.
class NumberedNames {
 public:
  int64_t number(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<int64_t>(numbers_.size()) + 1).first->second;
  }
  void append(std::string& plane, uint32_t field) const {
    for (const auto& [name, number] : numbers_) {
      std::string metadata;
      wire::put_int(metadata, 1, number);
      wire::put_bytes(metadata, 2, name);
      std::string entry;
      wire::put_int(entry, 1, number);
      wire::put_bytes(entry, 2, metadata);
      wire::put_bytes(plane, field, entry);
    }
  }

 private:
  std::map<std::string, int64_t> numbers_;
};

class Plane {
 public:
  explicit Plane(Clock::time_point first)
      : first_(first),
        first_ns_(nanoseconds(std::chrono::system_clock::now().time_since_epoch()) -
                  nanoseconds(Clock::now() - first)) {}

  void begin_row(int64_t id, const std::string& name) {
    row_.clear();
    wire::put_int(row_, 1, id);
    wire::put_bytes(row_, 2, name);
    wire::put_int(row_, 3, first_ns_);
  }
  void end_row() { wire::put_bytes(rows_, 3, row_); }

  void begin_event(const std::string& name, Clock::time_point begin, Clock::time_point end) {
    event_.clear();
    wire::put_int(event_, 1, events_.number(name));
    wire::put_int(event_, 2, 1000 * nanoseconds(begin - first_));
    wire::put_int(event_, 3, 1000 * nanoseconds(end - begin));
  }
  void add_stat(const std::string& name, int64_t value) {
    std::string stat;
    wire::put_int(stat, 1, stats_.number(name));
    wire::put_int(stat, 4, value);
    wire::put_bytes(event_, 4, stat);
  }
  void add_stat(const std::string& name, double value) {
    std::string stat;
    wire::put_int(stat, 1, stats_.number(name));
    wire::put_double(stat, 2, value);
    wire::put_bytes(event_, 4, stat);
  }
  void add_stat(const std::string& name, const std::string& value) {
    std::string stat;
    wire::put_int(stat, 1, stats_.number(name));
    wire::put_bytes(stat, 5, value);
    wire::put_bytes(event_, 4, stat);
  }
  void end_event() { wire::put_bytes(row_, 4, event_); }

  std::string bytes(const std::string& name) const {
    std::string plane;
    wire::put_int(plane, 1, 1);
    wire::put_bytes(plane, 2, name);
    plane += rows_;
    events_.append(plane, 4);
    stats_.append(plane, 5);
    return plane;
  }

 private:
  template <class Duration>
  static int64_t nanoseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  }

  Clock::time_point first_;
  int64_t first_ns_;  // since the Unix epoch
  std::string rows_;
  std::string row_;
  std::string event_;
  NumberedNames events_;
  NumberedNames stats_;
};

// "dense/matmul:matmul": TensorFlow's tools interpret the part after the colon as the type of op.
std::string op_name(const ProgramInstruction& instruction) {
  const std::string layer = instruction.scopes.empty() ? "" : instruction.scopes.front() + "/";
  return fmt::format("{}{}:{}", layer, instruction.op, instruction.op);
}

}  // namespace

std::string title_of(const ProgramInstruction& instruction) {
  if (instruction.parts.empty()) return instruction.op;
  return fmt::format("{}: {}", instruction.op, join(instruction.parts, ", "));
}

std::string chrome_trace(std::span<const ProgramRun> runs, std::span<const StepSpan> steps) {
  TraceEvents events(first_of(runs, steps));
  if (!steps.empty()) events.name_row(1, "steps");
  for (const StepSpan& step : steps) {
    events.add(1, fmt::format("step {}", step.step), step.begin, step.end, Json::object());
  }
  for (int64_t replica = 0; replica < most_replicas(runs); ++replica) {
    events.name_row(replica + 2, fmt::format("replica {}", replica));
  }
  for (const ProgramRun& run : runs) {
    each_instruction(run, [&](const ProgramInstruction& instruction, auto begin, auto end) {
      Json arguments = Json::object({{"layers", join(instruction.scopes, ", ")},
                                     {"bytes", instruction.bytes},
                                     {"program", run.program->name}});
      if (instruction.flops > 0) arguments.set("GFLOP/s", gflops_of(instruction, end - begin));
      events.add(run.replica + 2, title_of(instruction), begin, end, std::move(arguments));
    });
  }
  return std::move(events).text();
}

std::string xspace(std::span<const ProgramRun> runs, std::span<const StepSpan> steps) {
  Plane plane(first_of(runs, steps));
  if (!steps.empty()) {
    plane.begin_row(1, "steps");
    for (const StepSpan& step : steps) {
      plane.begin_event("train", step.begin, step.end);  // like tf.profiler.experimental.Trace
      plane.add_stat("_r", int64_t{1});
      plane.add_stat("step_num", step.step);
      plane.end_event();
    }
    plane.end_row();
  }
  for (int64_t replica = 0; replica < most_replicas(runs); ++replica) {
    plane.begin_row(replica + 2, fmt::format("replica {}", replica));
    for (const ProgramRun& run : runs) {
      if (run.replica != replica) continue;
      each_instruction(run, [&](const ProgramInstruction& instruction, auto begin, auto end) {
        plane.begin_event(op_name(instruction), begin, end);
        plane.add_stat("layers", join(instruction.scopes, ", "));
        plane.add_stat("ops", title_of(instruction));
        plane.add_stat("bytes_accessed", instruction.bytes);
        if (instruction.flops > 0) plane.add_stat("flops", instruction.flops);
        plane.end_event();
      });
    }
    plane.end_row();
  }
  std::string space;
  wire::put_bytes(space, 1, plane.bytes("/host:CPU"));
  wire::put_bytes(space, 4, host_name());
  return space;
}

void write_step_traces(const std::string& folder, std::span<const ProgramRun> runs,
                       std::span<const StepSpan> steps) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check<FailedPrecondition>(!error, "The directory '{}' can't be created: {}.", folder,
                            error.message());
  const std::string path = folder + "/" + host_name();
  write_file_atomically(path + ".xplane.pb", std::string_view(xspace(runs, steps)));
  const std::string events = gzip(chrome_trace(runs, steps));
  write_file_atomically(path + ".trace.json.gz", std::string_view(events));
}

}  // namespace cornu::callbacks

// SPDX-License-Identifier: Apache-2.0
#include "framework/train/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "framework/callbacks/step_traces.h"
#include "framework/core/random.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/console.h"
#include "framework/io/gzip.h"
#include "framework/train/body.h"
#include "framework/train/model.h"

namespace cornu {
namespace {

constexpr size_t kLayerWidth = 22;  // in characters

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double seconds_between(ProgramRun::Clock::time_point begin, ProgramRun::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// State that steps change, to be restored. Predictions don't change weights, which other threads
// may be training, but do change the states of stateful layers.
class StateBefore {
 public:
  StateBefore(Model& model, bool trains) : model_(model), trains_(trains), seeds_(seed_sequence()) {
    for (const Variable& variable : model.variables()) {
      if (trains || has_parts(variable)) keep(variable);
    }
    if (!trains) return;
    for (const Variable& variable : model.optimizer().variables()) keep(variable);
  }
  void put_back() {
    restore_seed_sequence(seeds_);
    for (const auto& [variable, values] : values_) variable.store_replicas(values);
    if (trains_) model_.reset_metrics();
  }

 private:
  // Whether each replica has its own value.
  static bool has_parts(const Variable& variable) {
    return variable.synchronization() == VariableSynchronization::OnRead;
  }
  void keep(const Variable& variable) {
    values_.emplace_back(
        variable, has_parts(variable) ? variable.replica_values() : std::vector{variable.stored()});
  }

  Model& model_;
  bool trains_;
  SeedSequence seeds_;
  std::vector<std::pair<Variable, std::vector<Tensor>>> values_;
};

// Creates weights and optimizer state, so that the first step's changes to them can be undone.
void make_variables(Model& model, const Tensors& x, bool trains) {
  if (!model.built()) {
    std::vector<Shape> shapes;
    for (const Tensor& input : x) shapes.push_back(input.shape());
    model.ensure_built(shapes, x.names());
  }
  if (trains) model.optimizer().build(model.trainable_variables());
}

// Runs of a step's programs: those of the first replica, and all.
struct MeasuredStep {
  std::vector<ProgramRun> first_replica;
  std::vector<ProgramRun> all;
  double seconds = 0;
};

template <class Step>
MeasuredStep measure(const Step& step) {
  ProgramRecorder recorder;
  recorder.start();
  const auto begin = ProgramRun::Clock::now();
  step();
  MeasuredStep result;
  result.seconds = seconds_between(begin, ProgramRun::Clock::now());
  recorder.stop();
  result.all = recorder.take();
  std::ranges::copy_if(result.all, std::back_inserter(result.first_replica),
                       [](const ProgramRun& run) { return run.replica == 0; });
  return result;
}

// Extracts the layers from scopes, without the model's own name.
std::vector<std::string> layers_of(const std::vector<std::string>& scopes,
                                   const std::string& model) {
  static constexpr std::string_view kGradients = "gradients/";
  std::vector<std::string> result;
  for (std::string_view scope : scopes) {
    const bool backward = scope.starts_with(kGradients);
    if (backward) scope.remove_prefix(kGradients.size());
    if (scope.starts_with(model) && scope.substr(model.size()).starts_with('/')) {
      scope.remove_prefix(model.size() + 1);
    }
    result.push_back((backward ? std::string(kGradients) : "") + std::string(scope));
  }
  return result;
}

void add_instructions(Profile& profile, const std::vector<MeasuredStep>& steps,
                      const std::string& model) {
  const ProgramFacts& facts = *steps.back().first_replica.front().program;
  std::vector<std::vector<double>> seconds(facts.instructions.size());
  std::vector<double> whole;
  std::vector<double> programs;
  for (const MeasuredStep& step : steps) {
    const ProgramRun& run = step.first_replica.front();
    auto begin = run.begin;
    for (size_t i = 0; i < seconds.size(); ++i) {
      seconds[i].push_back(seconds_between(begin, run.ends[i]));
      begin = run.ends[i];
    }
    programs.push_back(seconds_between(run.begin, begin));
    whole.push_back(step.seconds);
  }
  profile.program_seconds = median(programs);
  profile.step_seconds = median(whole);
  for (size_t i = 0; i < seconds.size(); ++i) {
    const ProgramInstruction& fact = facts.instructions[i];
    ProfiledInstruction& entry = profile.instructions.emplace_back();
    entry.op = fact.op;
    entry.parts = fact.parts;
    entry.layers = layers_of(fact.scopes, model);
    entry.seconds = median(seconds[i]);
    entry.bytes = fact.bytes;
    if (fact.flops > 0 && entry.seconds > 0) entry.gflops = fact.flops / entry.seconds * 1e-9;
  }
  double sum = 0;
  for (const ProfiledInstruction& entry : profile.instructions) sum += entry.seconds;
  if (sum == 0) return;
  for (ProfiledInstruction& entry : profile.instructions) entry.share = entry.seconds / sum;
}

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", 1e6 * seconds);
  if (seconds < 1) return fmt::format("{:.2f} ms", 1e3 * seconds);
  return fmt::format("{:.2f} s", seconds);
}

std::string size_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", size * 1e-3);
  return fmt::format("{:.1f} MB", size * 1e-6);
}

std::string title_of(const ProfiledInstruction& entry) {
  if (entry.parts.empty()) return entry.op;
  return fmt::format("{}: {}", entry.op, join(entry.parts, ", "));
}

// The first layer and the number of further ones, shortened to the column's width.
std::string shortened_layers(const std::vector<std::string>& layers) {
  if (layers.empty()) return "-";
  const std::string more = layers.size() > 1 ? fmt::format(" +{}", layers.size() - 1) : "";
  std::string first = printable(layers.front(), 1000);
  if (first.size() + more.size() > kLayerWidth) {
    first = first.substr(0, kLayerWidth - more.size() - 2) + "..";
  }
  return first + more;
}

Json strings(const std::vector<std::string>& list) {
  Json result = Json::array();
  for (const std::string& text : list) result.push_back(text);
  return result;
}

}  // namespace

Profile profile_step(Model& model, const Tensors& x, const Tensors& y,
                     const ProfileOptions& options) {
  check<InvalidArgument>(options.runs >= 1 && options.warm_up >= 0,
                         "{}: profile expected 1 or more runs after 0 or more to warm up, got {} "
                         "and {}.",
                         title_of(model), options.runs, options.warm_up);
  const bool trains = !y.empty();
  make_variables(model, x, trains);
  const auto step = [&] {
    if (trains) {
      model.train_on_batch(x, y);
    } else {
      model.predict_on_batch(x);
    }
  };
  StateBefore before(model, trains);
  std::vector<MeasuredStep> steps;
  try {
    for (int64_t i = 0; i < std::max<int64_t>(options.warm_up, 1); ++i) step();
    for (int64_t i = 0; i < options.runs; ++i) steps.push_back(measure(step));
  } catch (...) {
    before.put_back();
    throw;
  }
  before.put_back();
  Profile profile{.step = trains ? "train_step" : "predict_step",
                  .runs = options.runs,
                  .instructions = {},
                  .timeline = steps.back().all};
  const auto is_one_program = [&](const MeasuredStep& measured) {
    return measured.first_replica.size() == 1 &&
           measured.first_replica.front().program->name == profile.step;
  };
  check<FailedPrecondition>(
      std::ranges::all_of(steps, is_one_program),
      "{}: its {} runs as no compiled program that was measured: it may be called op by op "
      "(run_eagerly), start runs of its own, or run on a device that records none, as TPUs do. "
      "Compile it with {{.run_eagerly = false}}, on a CPU or a GPU.",
      title_of(model), profile.step);
  add_instructions(profile, steps, model.name());
  return profile;
}

std::string Profile::table(int64_t most) const {
  std::vector<size_t> order(instructions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t i) { return instructions[i].seconds; });
  const int64_t width = std::clamp<int64_t>(console::columns(), 96, 160);
  std::string text = fmt::format("Profile of {}, medians of {} runs\n", step, runs);
  text += fmt::format("{:>10}  {:>6}  {:>8}  {:>7}  {:<{}}  {}\n", "Time", "Share", "Bytes",
                      "GFLOP/s", "Layer", kLayerWidth, "Instruction");
  double others = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    const ProfiledInstruction& entry = instructions[order[place]];
    if (static_cast<int64_t>(place) >= most) {
      others += entry.seconds;
      continue;
    }
    text += fmt::format("{:>10}  {:>5.1f}%  {:>8}  {:>7}  {:<{}}  {}\n",
                        duration_text(entry.seconds), 100 * entry.share, size_text(entry.bytes),
                        entry.gflops ? fmt::format("{:.1f}", *entry.gflops) : "-",
                        shortened_layers(entry.layers), kLayerWidth,
                        printable(title_of(entry), static_cast<size_t>(width) - kLayerWidth - 41));
  }
  const auto shown = std::clamp<int64_t>(most, 0, static_cast<int64_t>(order.size()));
  if (const auto left = static_cast<int64_t>(order.size()) - shown; left > 0) {
    text += fmt::format(" {} more instructions: {}\n", left, duration_text(others));
  }
  text += fmt::format(" Program: {} ({} instructions)\n Step: {}\n", duration_text(program_seconds),
                      instructions.size(), duration_text(step_seconds));
  return text;
}

void Profile::print(int64_t most) const { console::write(table(most)); }

Json Profile::to_json() const {
  Json list = Json::array();
  for (const ProfiledInstruction& entry : instructions) {
    list.push_back(Json::object({{"op", entry.op},
                                 {"parts", strings(entry.parts)},
                                 {"layers", strings(entry.layers)},
                                 {"seconds", entry.seconds},
                                 {"share", entry.share},
                                 {"bytes", entry.bytes},
                                 {"gflops", entry.gflops ? Json(*entry.gflops) : Json()}}));
  }
  return Json::object({{"step", step},
                       {"runs", runs},
                       {"step_seconds", step_seconds},
                       {"program_seconds", program_seconds},
                       {"instructions", std::move(list)}});
}

void Profile::save_trace(const std::string& path) const {
  const std::string text = callbacks::chrome_trace(timeline, {});
  write_file_atomically(path, std::string_view(path.ends_with(".gz") ? gzip(text) : text));
}

}  // namespace cornu

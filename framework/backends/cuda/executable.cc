// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/executable.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "framework/backends/cuda/connected_group.h"
#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/passes/passes.h"
#include "framework/core/error.h"
#include "framework/core/exception_text.h"
#include "framework/core/logging.h"
#include "framework/graph/launches.h"
#include "framework/graph/program_facts.h"

namespace cornu::cuda {
namespace {

constexpr size_t kArenaAlignment = 256;

size_t in_arena(size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// CORNU_CUDA_GRAPHS=0 launches every kernel individually, for debuggers and profilers.
bool captures_graphs() {
  static const bool wanted = [] {
    const char* text = std::getenv("CORNU_CUDA_GRAPHS");
    return text == nullptr || std::string_view(text) != "0";
  }();
  return wanted;
}

// Offsets for arrays of these sizes, one after another, starting at `at`, which is advanced.
std::vector<size_t> places_for(const std::vector<size_t>& bytes, size_t& at) {
  std::vector<size_t> places;
  for (const size_t size : bytes) {
    places.push_back(at);
    at += in_arena(size);
  }
  return places;
}

std::vector<void*> addresses(std::byte* arena, const std::vector<size_t>& places) {
  std::vector<void*> result;
  for (const size_t place : places) result.push_back(arena + place);
  return result;
}

void* address_of(const Tensor& tensor) { return const_cast<std::byte*>(tensor.address()); }

}  // namespace

PreparedProgram::PreparedProgram(const Graph& graph, GpuDevice& device, bool optimized)
    : device_(device),
      program_(graph, device, optimized),
      checks_(std::make_shared<const Checks>(program_.checks())) {
  program_.load();
  for (const ValueId id : graph.inputs) input_bytes_.push_back(graph.type(id).bytes());
  for (const ValueId id : graph.outputs) output_bytes_.push_back(graph.type(id).bytes());
  staged_bytes_ = in_arena(program_.workspace_bytes());
  input_places_ = places_for(input_bytes_, staged_bytes_);
  output_places_ = places_for(output_bytes_, staged_bytes_);
}

void PreparedProgram::enqueue(const Arguments& arguments, const Tensors& tensors,
                              RunContext context) {
  const bool again = std::exchange(has_run_, true);
  const bool as_one =
      again && program_.is_replayable(context.group) && captures_graphs() && !context.ends;
  if (!as_one || !replay(arguments, tensors)) enqueue_directly(arguments, context);
}

void PreparedProgram::enqueue_directly(const Arguments& arguments, RunContext& context) {
  program_.enqueue({.inputs = arguments.inputs,
                    .states = arguments.states,
                    .outputs = arguments.outputs,
                    .workspace = device_.arena(program_.workspace_bytes())},
                   context);
}

// Returns false when there is no captured graph and none can be made.
bool PreparedProgram::replay(const Arguments& arguments, const Tensors& tensors) {
  std::byte* const arena = device_.arena(staged_bytes_);
  RuntimeGraph* const graph = captured_for(arena, arguments.states);
  if (!graph) return false;
  const std::vector<void*> inputs = addresses(arena, input_places_);
  const std::vector<void*> outputs = addresses(arena, output_places_);
  copy_arrays(inputs, arguments.inputs, input_bytes_, tensors.inputs);
  device_.runtime().launch(device_.stream(), *graph);
  copy_arrays(arguments.outputs, outputs, output_bytes_, tensors.outputs);
  return true;
}

// Arrays that are adjacent on both sides, including their padding to multiples of kArenaAlignment,
// are copied together. They must be parts of one block, since CUDA can't copy across allocations.
void PreparedProgram::copy_arrays(std::span<void* const> to, std::span<void* const> from,
                                  const std::vector<size_t>& bytes,
                                  std::span<const Tensor> tensors) {
  const auto end_of = [&](void* begin, size_t index) {
    return static_cast<std::byte*>(begin) + in_arena(bytes[index]);
  };
  for (size_t i = 0; i < to.size();) {
    size_t next = i + 1;
    while (next < to.size() && tensors[next].buffer() == tensors[next - 1].buffer() &&
           to[next] == end_of(to[next - 1], next - 1) &&
           from[next] == end_of(from[next - 1], next - 1)) {
      ++next;
    }
    size_t total = bytes[next - 1];
    for (size_t k = i; k + 1 < next; ++k) total += in_arena(bytes[k]);
    if (total > 0) device_.runtime().copy(device_.stream(), to[i], from[i], total);
    i = next;
  }
}

RuntimeGraph* PreparedProgram::captured_for(std::byte* arena, std::span<void* const> states) {
  const auto fits = [&](const Captured& one) {
    return one.arena == arena && std::ranges::equal(one.states, states);
  };
  const auto found = std::ranges::find_if(captured_, fits);
  if (found != captured_.end()) {
    std::rotate(captured_.begin(), found, found + 1);
    if (++replays_ >= kWorthCaptures) captures_ = 0;
    return captured_.front().graph.get();
  }
  replays_ = 0;
  if (cannot_be_captured_ || captures_ >= kMaxCaptures) return nullptr;
  if (++captures_ == kMaxCaptures) {
    logging::warn(
        fmt::format("{}: variables of a function have other addresses in each call, since their "
                    "values are held: from now on its kernels are launched one by one.",
                    device_.device()));
  }
  const std::vector<void*> inputs = addresses(arena, input_places_);
  const std::vector<void*> outputs = addresses(arena, output_places_);
  Runtime& runtime = device_.runtime();
  RunContext context{device_};
  // If this fails, nothing has been run: a direct launch either works or reports what is wrong.
  std::string why;
  std::shared_ptr<RuntimeGraph> graph;
  try {
    runtime.begin_capture(device_.stream());
    try {
      program_.enqueue({.inputs = inputs, .states = states, .outputs = outputs, .workspace = arena},
                       context);
    } catch (const std::exception& error) {
      why = error.what();
    }
    graph = runtime.end_capture(device_.stream());
  } catch (const std::exception& error) {
    if (why.empty()) why = error.what();
  }
  if (!graph || !why.empty()) {
    logging::warn(
        fmt::format("{}: a function runs without a CUDA graph, since making one failed. {}",
                    device_.device(), why));
    cannot_be_captured_ = true;
    return nullptr;
  }
  if (captured_.size() == kMaxCaptured) captured_.pop_back();
  captured_.insert(captured_.begin(), {arena, {states.begin(), states.end()}, std::move(graph)});
  return captured_.front().graph.get();
}

CudaExecutable::CudaExecutable(Graph graph, const ExecutableOptions& options, GpuDevice& device)
    : CudaExecutable(std::move(graph), options, device, passes::Dump(options.name)) {}

CudaExecutable::CudaExecutable(Graph graph, const ExecutableOptions& options, GpuDevice& device,
                               passes::Dump dump)
    : name_(options.name),
      graph_(options.optimize ? optimize(std::move(graph), dump) : expand_dropout(graph)),
      optimized_(options.optimize) {
  const Program& program = prepared_for(device).program();
  if (dump.is_wanted()) dump.write_text("launches", program.describe());
}

size_t CudaExecutable::workspace_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t most = 0;
  for (const auto& [device, prepared] : prepared_) {
    most = std::max(most, prepared->program().workspace_bytes());
  }
  return most;
}

PreparedProgram& CudaExecutable::prepared_for(GpuDevice& device) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PreparedProgram>& prepared = prepared_[&device];
  if (!prepared) prepared = std::make_unique<PreparedProgram>(graph_, device, optimized_);
  return *prepared;
}

std::shared_ptr<const ProgramFacts> CudaExecutable::facts(GpuDevice& device) {
  const size_t copied = prepared_for(device).program().copied_bytes();
  const std::lock_guard lock(mutex_);
  if (!facts_) facts_ = std::make_shared<const ProgramFacts>(facts_of(graph_, name_, copied));
  return facts_;
}

namespace {

// One replica's part of a run.
class GpuLaunch {
 public:
  // `number`: the number of the run, shared by all replicas. `writes`: whether this replica writes
  // variables; `written`: the variables written by any replica.
  GpuLaunch(Launch& launch, const LaunchRun& run, size_t index, uint64_t number, bool writes,
            std::shared_ptr<const std::vector<Variable>> written)
      : launch_(launch),
        executable_(static_cast<CudaExecutable&>(*launch.executable)),
        device_(gpu_device(launch.device.index)),
        run_(run),
        index_(index),
        number_(number),
        writes_(writes),
        written_(std::move(written)) {}

  // `recorded`: null unless the run is being measured. Returns the event after which failed checks
  // are known; null if the kernels make no checks.
  std::shared_ptr<RuntimeEvent> operator()(bool& touched, ProgramRun* recorded) {
    touched = false;
    PreparedProgram& prepared = executable_.prepared_for(device_);
    const Graph& graph = executable_.graph();
    CORNU_ASSERT(launch_.inputs.size(), ==, graph.inputs.size());
    CORNU_ASSERT(launch_.variables.size(), ==, graph.states.size());
    Origin origin = origin_of_operands();
    require_right(origin);
    std::vector<void*> inputs;
    std::vector<Tensor> aligned;  // kept until enqueued; then the stream's order protects them
    for (const Tensor& input : launch_.inputs) {
      aligned.push_back(device_.aligned(input));
      inputs.push_back(address_of(aligned.back()));
    }
    std::vector<void*> outputs;
    allocate_outputs(graph, outputs);
    std::shared_ptr<GpuDevice::CheckedRun> checked;
    std::shared_ptr<RuntimeEvent> done;
    if (recorded) recorded->program = executable_.facts(device_);
    {
      const auto lock = device_.lock();
      prepared.reserve();
      touched = writes_;
      if (recorded) begin(*recorded);
      prepared.enqueue({inputs, run_.states(index_), outputs}, {aligned, launch_.outputs},
                       {.device = device_,
                        .group = launch_.group,
                        .origin = origin,
                        .ends = recorded ? &recorded->ends : nullptr});
      const bool may_refuse = !prepared.checks()->empty();
      Connection* const others = connection_with_processes(prepared.program());
      // Variables written after a run with a failed check may depend on it.
      if (may_refuse || others || (writes_ && device_.is_expecting())) {
        // Nobody else tells the caller about failed checks of a function without variables.
        checked =
            device_.expect(number_, prepared.checks(), written_, may_refuse && written_->empty());
      }
      done = checked ? checked->done : device_.runtime().record(device_.stream());
      if (others) add_origin(origin, others->follow(done));
      if (checked) checked->origin = origin;
      mark_results(done, origin);
    }
    device_.follow(std::move(done));
    if (!checked) return nullptr;
    if (checked->awaited) device_.settle(*checked);
    return checked->done;
  }

 private:
  void begin(ProgramRun& recorded) {
    recorded.replica = static_cast<int64_t>(index_);
    device_.drain();
    recorded.begin = ProgramRun::Clock::now();
  }

  // The connection through which a run depends on other processes; null: it doesn't.
  Connection* connection_with_processes(const Program& program) const {
    const auto* connected = dynamic_cast<ConnectedGroup*>(launch_.group);
    const bool needs = connected && program.communicates();
    return needs && connected->connection().spans_processes() ? &connected->connection() : nullptr;
  }

  Origin origin_of_operands() const {
    Origin origin = origin_of(launch_.inputs);
    for (size_t i = 0; i < launch_.variables.size(); ++i) {
      add_origin(origin, buffer_of(run_.current(index_, i)).origin());
    }
    return origin;
  }

  // The last run of the operands, if no failed check can go unnoticed and no replica sends anything
  // to this one.
  uint64_t last_run() const {
    if (!written_->empty() || (launch_.group && launch_.group->size() > 1)) return number_;
    uint64_t last = last_run_of(launch_.inputs);
    for (size_t i = 0; i < launch_.variables.size(); ++i) {
      last = std::max(last, buffer_of(run_.current(index_, i)).last_run());
    }
    return last;
  }

  // Each result is available when the run is done, and correct unless the origin was stopped.
  void mark_results(const std::shared_ptr<RuntimeEvent>& done, const Origin& origin) const {
    const auto mark = [&, last = last_run()](const Tensor& result) {
      buffer_of(result).set_ready(done);
      buffer_of(result).set_origin(origin);
      buffer_of(result).set_last_run(last);
    };
    for (const Tensor& output : launch_.outputs) mark(output);
    for (size_t i = 0; i < launch_.variables.size(); ++i) {
      if (executable_.writes(i)) mark(run_.current(index_, i));
    }
  }

  void allocate_outputs(const Graph& graph, std::vector<void*>& addresses) {
    std::vector<TensorType> types;
    for (const ValueId id : graph.outputs) types.push_back(graph.type(id));
    launch_.outputs = device_.empty(types, "results of a function");
    for (const Tensor& output : launch_.outputs) addresses.push_back(address_of(output));
  }

  Launch& launch_;
  CudaExecutable& executable_;
  GpuDevice& device_;
  const LaunchRun& run_;
  size_t index_;
  uint64_t number_;
  bool writes_;
  std::shared_ptr<const std::vector<Variable>> written_;
};

// Readers of results on one of these GPUs are told about failed checks on the others.
void accompany(std::span<const Launch> launches,
               std::span<const std::shared_ptr<RuntimeEvent>> checked) {
  for (size_t i = 0; i < launches.size(); ++i) {
    for (size_t k = 0; k < launches.size(); ++k) {
      if (i == k || !checked[i] || !checked[k]) continue;
      GpuDevice& own = gpu_device(launches[i].device.index);
      GpuDevice& other = gpu_device(launches[k].device.index);
      if (&own != &other) own.accompany(checked[i], other, checked[k]);
    }
  }
}

// A GPU whose group was aborted has continued with garbage.
void forget_refused(std::span<const Launch> launches, const std::string& why) {
  for (const Launch& launch : launches) {
    try {
      gpu_device(launch.device.index).forget_refused(why);
    } catch (const Error& error) {  // the GPU has failed: the first error is more informative
      logging::warn(error.what());
    }
  }
}

// Failed checks of earlier runs are reported before the variables are used: those that have been
// assigned other values since are correct.
void tell_refused(std::span<const Launch> launches) {
  std::exception_ptr refused;
  for (const Launch& launch : launches) {
    try {
      gpu_device(launch.device.index).look_at_status();
    } catch (const std::exception&) {
      if (!refused) refused = std::current_exception();
    }
  }
  if (!refused) return;
  for (const Launch& launch : launches) {
    if (launch.group) launch.group->abort(text_of(refused));
  }
  std::rethrow_exception(refused);
}

// Sets the run's number on the variables before any replica's GPU can report what poisons them all.
void number_written(std::span<const Launch> launches, const LaunchRun& run, uint64_t number) {
  for (size_t i = 0; i < launches.size(); ++i) {
    const auto& executable = static_cast<const CudaExecutable&>(*launches[i].executable);
    for (size_t k = 0; k < launches[i].variables.size(); ++k) {
      if (executable.writes(k)) buffer_of(run.current(i, k)).set_last_run(number);
    }
  }
}

}  // namespace

void run_launches(std::span<Launch> launches) {
  tell_refused(launches);
  LaunchRun run(launches, [](const Executable& executable, size_t state) {
    return static_cast<const CudaExecutable&>(executable).writes(state);
  });
  const bool together = std::ranges::any_of(launches, [](const Launch& launch) {
    return launch.group && launch.group->size() > 1 &&
           static_cast<CudaExecutable*>(launch.executable)
               ->prepared_for(gpu_device(launch.device.index))
               .program()
               .communicates();
  });
  std::unique_lock ordering(order_of_gpus(), std::defer_lock);
  if (together) ordering.lock();
  const auto written = std::make_shared<std::vector<Variable>>();
  std::vector<char> writes;
  for (size_t i = 0; i < launches.size(); ++i) {
    const std::vector<Variable> own = run.written(i);
    writes.push_back(!own.empty());
    written->insert(written->end(), own.begin(), own.end());
  }
  const uint64_t number = GpuDevice::next_run_number();
  number_written(launches, run, number);
  std::vector<std::shared_ptr<RuntimeEvent>> checked(launches.size());
  std::vector<ProgramRun> recorded(ProgramRecorder::is_any_recording() ? launches.size() : 0);
  try {
    run([&](size_t index, bool& touched) {
      Launch& launch = launches[index];
      try {
        checked[index] = GpuLaunch(launch, run, index, number, writes[index] != 0, written)(
            touched, recorded.empty() ? nullptr : &recorded[index]);
      } catch (const Error&) {  // perhaps due to garbage received after another replica failed
        auto* connected = dynamic_cast<ConnectedGroup*>(launch.group);
        if (connected) connected->check_state();
        throw;
      }
    });
  } catch (const std::exception& error) {
    if (together) forget_refused(launches, error.what());
    throw;
  }
  accompany(launches, checked);
  for (const ProgramRun& one : recorded) ProgramRecorder::record(one);
}

}  // namespace cornu::cuda

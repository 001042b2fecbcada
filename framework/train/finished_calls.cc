// SPDX-License-Identifier: Apache-2.0
#include "framework/train/finished_calls.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "framework/core/error.h"
#include "framework/io/tensor_checksum.h"
#include "framework/saving/saved_variables.h"
#include "framework/train/same_on_workers.h"

namespace cornu {
namespace {

constexpr const char* kMaxKept = "CORNU_KEPT_CALLS_MIB";
constexpr size_t kMiB = size_t{1} << 20;

size_t most_kept_mib() {
  const char* given = std::getenv(kMaxKept);
  if (!given) return 512;
  const std::string_view text = given;
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  check<InvalidArgument>(error == std::errc() && end == text.data() + text.size() && !text.empty(),
                         "{}: expected a number of MiB, got '{}'.", kMaxKept, text);
  return count;
}

RunState values_now(int64_t number, const TrainedVariables& trained) {
  RunState state;
  save_variables(state, group_of(number, "model"), trained.model);
  save_variables(state, group_of(number, "optimizer"), trained.optimizer);
  return state;
}

size_t bytes_of(const RunState& state) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : state.tensors) bytes += tensor.bytes();
  return bytes;
}

std::string digest_of(const RunState& state) {
  std::string digest;
  for (const auto& [name, tensor] : state.tensors) digest += checksum_of_values(tensor);
  return digest;
}

}  // namespace

std::string group_of(int64_t number, const char* part) {
  return fmt::format("call {} {}", number, part);
}

FinishedCalls& FinishedCalls::get() {
  static auto* const all = new FinishedCalls;  // never destroyed: devices may be gone before
  return *all;
}

FinishedCalls::FinishedCalls() : most_bytes_(most_kept_mib() * kMiB) {}

void FinishedCalls::add(int64_t number, Given given,
                        const std::weak_ptr<const TrainedVariables>& trained) {
  Call call{.given = std::move(given), .seeds = seed_sequence(), .trained = trained};
  const auto variables = trained.lock();
  call.trains = variables != nullptr;
  const std::lock_guard lock(mutex_);
  if (call.trains) {
    RunState values = values_now(number, *variables);
    const size_t bytes = bytes_of(values);
    if (bytes <= most_bytes_ - bytes_) {
      bytes_ += bytes;
      call.values = std::move(values);
    } else {
      call.digest = digest_of(values);
    }
  }
  calls_.insert_or_assign(number, std::move(call));
}

// The values at the call's end. Throws FailedPrecondition with the reason, as a clause, if they
// aren't available.
RunState FinishedCalls::values_of(int64_t number, const Call& call) {
  if (!call.trains || call.values) return call.values.value_or(RunState());
  const auto trained = call.trained.lock();
  check<FailedPrecondition>(trained != nullptr,
                            "the model that it trained has gone, or was compiled again");
  RunState values = values_now(number, *trained);
  check<FailedPrecondition>(digest_of(values) == call.digest,
                            "the model that it trained has been changed since");
  return values;
}

RunState FinishedCalls::of(const std::set<int64_t>& numbers) const {
  RunState state;
  Json counts = Json::object();
  const std::lock_guard lock(mutex_);
  for (const int64_t number : numbers) {
    const auto place = calls_.find(number);
    if (place == calls_.end()) continue;  // the call ended with an error that was caught
    const Call& call = place->second;
    RunState values;
    std::string lacking;
    try {
      values = values_of(number, call);
      for (auto& [name, tensor] : values.tensors) tensor = tensor.host();
    } catch (const Error& error) {
      values = {};
      lacking = error.what();
    }
    state.info.set(std::to_string(number),
                   Json::object({{"what", call.given.what},
                                 {"figures", call.given.figures},
                                 {"input_shapes", call.given.input_shapes},
                                 {"trains", call.trains},
                                 {"lacking", lacking},
                                 {"seed", static_cast<int64_t>(call.seeds.seed)},
                                 {"drawn", static_cast<int64_t>(call.seeds.drawn)},
                                 {"chosen", call.seeds.chosen}}));
    for (auto& tensor : values.tensors) state.tensors.push_back(std::move(tensor));
    if (const Json* groups = values.info.find("variables")) {
      for (const auto& [group, count] : groups->as_object()) counts.set(group, count);
    }
  }
  state.info.set("variables", std::move(counts));
  return state;
}

void require_given(const char* what, const RunState& calls, const std::set<int64_t>& numbers) {
  for (const int64_t number : numbers) {
    const Json* call = calls.info.find(std::to_string(number));
    check<WorkersDiffer>(call != nullptr,
                         "{}: a worker was restarted, but call {} of fit and evaluate failed on "
                         "the others. Restart all workers.",
                         what, number);
    const std::string& lacking = call->at("lacking").as_string();
    check<WorkersDiffer>(lacking.empty(),
                         "{}: a worker was restarted, but the others no longer have the results of "
                         "call {} of fit and evaluate: {}. Restart all workers. (They keep what "
                         "such calls have trained up to a size; {} is for another one.)",
                         what, number, lacking, kMaxKept);
  }
}

}  // namespace cornu

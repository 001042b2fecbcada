// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/worker_options.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "distribute/cluster/environment.h"
#include "distribute/collectives/transport.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"

namespace cornu::distribute {
namespace {

constexpr int64_t kMaxSeconds = 1'000'000;

std::chrono::milliseconds milliseconds_of(double seconds, const char* option) {
  check<InvalidArgument>(seconds > 0 && seconds <= kMaxSeconds,
                         "{} of more than 0 and at most a million, got {}.", option, seconds);
  return std::chrono::milliseconds(std::max<int64_t>(1, std::llround(seconds * 1000)));
}

}  // namespace

std::chrono::milliseconds timeout_of(const CommunicationOptions& options) {
  if (!options.timeout_seconds) return kCollectiveTimeout;
  return milliseconds_of(*options.timeout_seconds,
                         "CommunicationOptions: expected timeout_seconds");
}

std::optional<std::chrono::milliseconds> join_timeout_of(
    const MultiWorkerMirroredStrategyOptions& options) {
  if (options.join_timeout_seconds) {
    return milliseconds_of(*options.join_timeout_seconds,
                           "MultiWorkerMirroredStrategyOptions: expected join_timeout_seconds");
  }
  const auto seconds =
      read_number(process_variable, "CORNU_JOIN_TIMEOUT", kMultiWorkerMirrored, 1, kMaxSeconds);
  if (!seconds) return {};
  return std::chrono::seconds(*seconds);
}

Communication implementation_of(const CommunicationOptions& options) {
  const CommunicationImplementation& asked = options.implementation;
  const bool is_ring = asked == CommunicationImplementation::Auto ||
                       asked == CommunicationImplementation::Ring ||
                       asked == CommunicationImplementation::Nccl;
  return is_ring ? ring_communication() : communication_registry().at(asked.name());
}

bool all_have(const std::vector<std::string>& types, DeviceType type) {
  return std::ranges::all_of(types, [&](const std::string& one) { return one == to_string(type); });
}

bool prefers_devices(const CommunicationImplementation& asked, bool over_tls) {
  return asked == CommunicationImplementation::Nccl ||
         (asked == CommunicationImplementation::Auto && !over_tls);
}

void warn_of_nccl(const CommunicationImplementation& asked, bool have_gpus, bool are_connected,
                  bool over_tls) {
  if (asked != CommunicationImplementation::Nccl) return;
  if (!are_connected) {
    logging::warn(fmt::format(
        "{}: NCCL was asked for, but {}: replicas exchange tensors by RING, through the hosts' "
        "memory.",
        kMultiWorkerMirrored,
        have_gpus ? "it can't connect the workers' GPUs" : "not all replicas are on GPUs"));
  } else if (over_tls) {
    logging::warn(fmt::format(
        "{}: NCCL was asked for, which encrypts nothing: what replicas exchange travels in the "
        "clear, though CORNU_TLS_CERT is given. RING encrypts it.",
        kMultiWorkerMirrored));
  }
}

void require_valid(const CommunicationOptions& options) {
  check<InvalidArgument>(options.bytes_per_pack >= 0,
                         "CommunicationOptions: expected bytes_per_pack of 0 (chosen) or more, got "
                         "{}.",
                         options.bytes_per_pack);
  const DType compression = options.compression.value_or(DType::Float16);
  check<InvalidArgument>(compression == DType::Float16 || compression == DType::BFloat16,
                         "CommunicationOptions: expected compression to float16 or bfloat16, got "
                         "{}.",
                         compression);
}

Json facts_of(const CommunicationOptions& options, int replicas, int place) {
  return Json::object(
      {{"version of Cornu", CORNU_VERSION},
       {"strategy", kMultiWorkerMirrored},
       {"place in the program", fmt::format("strategy {} since its start", place)},
       {"number of local replicas", int64_t{replicas}},
       {"communication implementation", options.implementation.name()},
       {"bytes_per_pack", options.bytes_per_pack},
       {"compression", options.compression ? fmt::format("{}", *options.compression) : "none"}});
}

}  // namespace cornu::distribute

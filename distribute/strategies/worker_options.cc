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

constexpr int64_t kMostSeconds = 1'000'000;

std::chrono::milliseconds milliseconds_of(double seconds, const char* option) {
  check<InvalidArgument>(seconds > 0 && seconds <= kMostSeconds,
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
      read_number(process_variable, "CORNU_JOIN_TIMEOUT", kMultiWorkerMirrored, 1, kMostSeconds);
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

void warn_of_nccl(const CommunicationOptions& options) {
  if (options.implementation != CommunicationImplementation::Nccl) return;
  logging::warn(
      fmt::format("{}: NCCL was asked for, which isn't used where there are several workers: "
                  "replicas exchange tensors by RING, through the hosts' memory.",
                  kMultiWorkerMirrored));
}

void require_valid(const CommunicationOptions& options) {
  check<InvalidArgument>(options.bytes_per_pack >= 0,
                         "CommunicationOptions: expected bytes_per_pack of 0 (chosen) or more, got "
                         "{}.",
                         options.bytes_per_pack);
  check<InvalidArgument>(!options.compression || *options.compression == DType::Float16 ||
                             *options.compression == DType::BFloat16,
                         "CommunicationOptions: expected compression to float16 or bfloat16, got "
                         "{}.",
                         *options.compression);
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

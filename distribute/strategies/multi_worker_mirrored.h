// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"
#include "distribute/collectives/collectives.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

// How tensors are moved between the replicas of all workers
// (tf.distribute.experimental.CommunicationImplementation).
class CommunicationImplementation {
 public:
  // Nccl if every replica of every worker has a GPU of its own and CORNU_TLS_CERT isn't set;
  // otherwise Ring.
  static const CommunicationImplementation Auto;
  // Processes exchange bytes through shared memory on one machine and over TCP otherwise: around a
  // ring for large tensors, in fewer steps for small ones. Tensors on GPUs, and those of one
  // worker's replicas, also go through host memory.
  static const CommunicationImplementation Ring;
  // NVIDIA's library, between GPUs (all-reduces within loops and branches use Ring). It doesn't
  // encrypt, and sums 16-bit numbers in 16 bits. Without the library, on CPUs, or if replicas share
  // a GPU, logs a warning and uses Ring.
  static const CommunicationImplementation Nccl;

  // An implementation registered by the program with register_communication.
  explicit CommunicationImplementation(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  bool operator==(const CommunicationImplementation&) const = default;

 private:
  std::string name_;
};
inline const CommunicationImplementation CommunicationImplementation::Auto("AUTO");
inline const CommunicationImplementation CommunicationImplementation::Ring("RING");
inline const CommunicationImplementation CommunicationImplementation::Nccl("NCCL");

// tf.distribute.experimental.CommunicationOptions.
struct CommunicationOptions {
  CommunicationImplementation implementation = CommunicationImplementation::Auto;
  // Number of bytes of gradients that are sent together; 0: chosen automatically (4 MiB, or 128 KiB
  // per worker if that is more).
  int64_t bytes_per_pack = 0;
  // BFloat16 or Float16: the type that float32 gradients are rounded to before they are summed over
  // the replicas, which halves the bytes sent. Sums of gradients of these types are then also
  // rounded at each worker; without compression they are sent as float32 (except by NCCL). nullopt:
  // gradients aren't rounded.
  std::optional<DType> compression = {};
  // How long, in seconds, a worker may keep the others waiting in one exchange while it sends
  // heartbeats; callbacks that run on the chief only (including on_train_end) must take less. With
  // NCCL, a GPU waits this long in one reduction. nullopt: ten minutes.
  std::optional<double> timeout_seconds = {};
};

struct MultiWorkerMirroredStrategyOptions {
  // The workers, and which one this process is. nullopt: as given by the environment (TF_CONFIG,
  // Slurm, MPI, torchrun), or a single worker.
  std::optional<ClusterResolver> cluster_resolver = {};
  CommunicationOptions communication_options = {};
  // This process's replicas, as for MirroredStrategy. All workers must have the same number.
  std::vector<std::string> devices = {};
  // Whether tasks on other machines are trusted without CORNU_JOB_TOKEN or CORNU_TLS_CERT;
  // CORNU_INSECURE=1 does the same.
  bool insecure = false;
  // How long, in seconds, this worker waits for the others: when the strategy is constructed, and
  // each time one was lost. After that, throws DeadlineExceeded, naming the missing workers.
  // nullopt: the whole number of seconds in CORNU_JOIN_TIMEOUT if set, otherwise forever.
  std::optional<double> join_timeout_seconds = {};
};

// Exit code of a worker's program that has completed its own part when another worker was lost
// before the end of its program, or has failed.
inline constexpr int kUnfinishedExitCode = 75;  // EX_TEMPFAIL of sysexits.h

// Synchronous training by many processes, on one or more machines
// (tf.distribute.MultiWorkerMirroredStrategy). Every worker runs the same program; each has a copy
// of all variables and processes its part of each batch. Gradients, losses and metrics are those of
// the whole batch. The constructor blocks until all workers have constructed their strategy, and
// logs which ones are missing.
//
//   distribute::MultiWorkerMirroredStrategy strategy;
//   auto scope = strategy.scope();
//   … make and compile a model …
//   model.fit(dataset, {.epochs = 3, .callbacks = {callbacks::ModelCheckpoint({.filepath =
//   "m"})}});
//
// When a worker dies, the others' calls throw PeerLost. If a callback saves its state
// (ModelCheckpoint, BackupAndRestore), fit instead waits for the worker to be restarted and
// continues with it from the last saved state, or from the beginning if none has been written yet;
// evaluate also waits and starts over (docs/clusters.md describes when). A program that has reached
// its end (when the strategy's last handle is destroyed; or at exit(0), outside of a call, while
// something still holds it) waits there for the programs of all workers. If a worker is lost before
// that or has failed, the process exits with kUnfinishedExitCode, without calling destructors: once
// restarted, all of them continue from the last saved state and do the remaining work. A worker
// restarted after all have reached their ends (CORNU_ENDED_FILE, docs/clusters.md) logs a warning
// and exits with code 0 immediately. If the others have reached a later strategy of their programs
// by then, all throw FailedPrecondition. What isn't distributed (predict) is computed by every
// worker by itself.
//
// Throws FailedPrecondition in tasks other than chief and worker, except the evaluator, whose
// strategy evaluates alone and doesn't train. Also throws it while the process has another
// multi-worker strategy: they must be used one after the other.
class MultiWorkerMirroredStrategy final : public Strategy {
 public:
  explicit MultiWorkerMirroredStrategy(const MultiWorkerMirroredStrategyOptions& options = {});
};

}  // namespace cornu::distribute

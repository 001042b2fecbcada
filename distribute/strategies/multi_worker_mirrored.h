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

// Who moves tensors between the replicas of all workers
// (tf.distribute.experimental.CommunicationImplementation).
class CommunicationImplementation {
 public:
  // Nccl where all replicas of all workers have GPUs of their own and CORNU_TLS_CERT isn't given;
  // Ring elsewhere.
  static const CommunicationImplementation Auto;
  // Processes that exchange bytes over shared memory on one machine, over TCP otherwise: round a
  // ring where there are many bytes, in fewer steps where there are few.
  // Tensors of GPUs, and of one worker's replicas, travel through the hosts' memory, too.
  static const CommunicationImplementation Ring;
  // NVIDIA's library, between GPUs (all-reduces within loops and branches go by Ring); it encrypts
  // nothing, and sums numbers of 16 bits as such. Without it, on CPUs, and where replicas share a
  // GPU, a warning, and Ring.
  static const CommunicationImplementation Nccl;

  // One that the program has registered: register_communication.
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
  // How many bytes of gradients travel together; 0: it is chosen (4 MiB, or 128 KiB a
  // worker where that is more).
  int64_t bytes_per_pack = 0;
  // BFloat16 or Float16: what gradients of float32 are rounded to before they are summed over the
  // replicas, so that half the bytes travel. Sums of gradients of these types, then, are rounded at
  // each worker, too; without compression they travel as float32 (not by NCCL). None: no gradient
  // is rounded.
  std::optional<DType> compression = {};
  // How long a worker may keep the others waiting in one exchange, in seconds, while it gives signs
  // of life: callbacks on the chief alone (on_train_end, too) take less. By NCCL, a GPU waits so
  // long in one reduction. None: ten minutes.
  std::optional<double> timeout_seconds = {};
};

struct MultiWorkerMirroredStrategyOptions {
  // Who the workers are, and which one this process is. None: what the environment says (TF_CONFIG,
  // Slurm, MPI, torchrun), or a single worker.
  std::optional<ClusterResolver> cluster_resolver = {};
  CommunicationOptions communication_options = {};
  // This process's replicas, as MirroredStrategy has them. All workers must have equally many.
  std::vector<std::string> devices = {};
  // Whether tasks on other machines are trusted without CORNU_JOB_TOKEN or CORNU_TLS_CERT;
  // CORNU_INSECURE=1 does the same.
  bool insecure = false;
  // How long this worker waits for the others, in seconds: when the strategy is made, and each time
  // that one was lost. Then DeadlineExceeded, which says for whom. None: as many whole seconds as
  // CORNU_JOIN_TIMEOUT says, or as long as it takes.
  std::optional<double> join_timeout_seconds = {};
};

// What a worker's program ends with whose own part is done, when another worker was lost before it
// had come to the end of its program, or has failed.
inline constexpr int kUnfinishedExitCode = 75;  // EX_TEMPFAIL of sysexits.h

// Synchronous training by many processes, on one machine or many
// (tf.distribute.MultiWorkerMirroredStrategy). Every worker runs the same program; each has a copy
// of all variables and its part of each batch. Gradients, losses and metrics are those of the whole
// batch. Making the strategy waits until all workers have made theirs, and says for whom.
//
//   distribute::MultiWorkerMirroredStrategy strategy;
//   auto scope = strategy.scope();
//   … make and compile a model …
//   model.fit(dataset, {.epochs = 3, .callbacks = {callbacks::ModelCheckpoint({.filepath =
//   "m"})}});
//
// When a worker dies, the others' calls throw PeerLost. fit, where a callback keeps its state
// (ModelCheckpoint, BackupAndRestore), waits for it to be started again instead, and goes on with
// it from the last state, or begins anew where none has been written yet; so does evaluate, from
// its beginning (docs/clusters.md says when). A program that has come to its end (where the
// strategy's last handle goes; or by exit(0), outside of a call, where something still holds it)
// waits there for those of all workers; when one of them is lost before, or has failed, the process
// ends with kUnfinishedExitCode, without calling destructors: started again, all of them go on from
// the last state, and do what was left. One that is started again when all have come to their ends
// (CORNU_ENDED_FILE, docs/clusters.md) ends with code 0 at once, and a warning. Where the others
// are at a later strategy of their programs by then, all throw FailedPrecondition. What isn't
// distributed (predict) every worker computes by itself.
//
// FailedPrecondition in tasks that are no chief and no worker, but the evaluator's, whose strategy
// evaluates alone and doesn't train; and while the process has another one of several workers: one
// may follow the other.
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  explicit MultiWorkerMirroredStrategy(const MultiWorkerMirroredStrategyOptions& options = {});
};

}  // namespace cornu::distribute

// SPDX-License-Identifier: Apache-2.0
// A worker's service to a coordinator: runs the workers' parts of steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distribute/cluster/call_message.h"
#include "distribute/parameter_server/serial_thread.h"
#include "distribute/parameter_server/server_links.h"
#include "framework/core/tensors.h"
#include "framework/graph/backend.h"
#include "framework/strategy/batch_source.h"

namespace cornu::distribute {

// Identifies a step: the number that the coordinator assigned to the function, and each argument's
// names, dtypes and shapes.
std::string step_signature(int64_t function, const std::vector<Tensors>& arguments);
// The arguments of a step called with a batch: the batch's non-empty parts.
std::vector<Tensors> arguments_of(const Batch& batch);

// Steps and datasets of one job, on one worker. Thread-safe; steps are run one after another.
class StepWorker {
 public:
  // `servers`: their addresses.
  StepWorker(const std::vector<std::string>& servers, const std::string& job,
             const CallCredentials& credentials);

  // The calls that a worker answers; throws NotFound for other methods.
  //   dataset {"dataset": n}, the bytes of a source: batches start from its beginning
  //   define  {"signature", "graph": text, "has_key", "values", "sums", "results",
  //            "read": [{"shape", "shards": [[server, key], …]}, …],
  //            "taken": [{"shape", "dtype", "shards", "ends", "indices"}, …], "ahead": text,
  //            "updates": [{"server", "update", "sent"}], "constants": how many of the graph},
  //           constants of both graphs
  //   run     {"signature", "step": n, "over": n}, arguments, then a key → {"signature"}, results
  //           (for what the last two are, see ParameterStore::handle)
  //   run     {"function": n, "dataset": n, "held": bool, "step", "over"}, a key → the same, or
  //           {"needs": [[[name, dtype, shape], …], …]}: the step isn't defined for these
  //           arguments, which are held
  //   forget  {"signatures", "datasets"}: no longer needed
  // Throws OutOfRange when a dataset has ended.
  CallMessage handle(const std::string& method, const CallMessage& request);

 private:
  struct Step;
  struct Batches {
    std::shared_ptr<BatchSource> source;
    std::unique_ptr<BatchIterator> iterator;
    std::optional<std::vector<Tensors>> held;
  };

  void define(const CallMessage& request);
  void make_dataset(const CallMessage& request);
  void forget(const CallMessage& request);
  CallMessage run(const CallMessage& request);
  CallMessage run_batch(const CallMessage& request);
  CallMessage run_known(const std::string& signature, std::vector<Tensor> arguments,
                        const CallMessage& request);
  static void require_consistent(const Step& step, const Graph& graph, const Graph& ahead,
                                 size_t servers);
  std::vector<Tensor> run_step(const Step& step, std::vector<Tensor> inputs,
                               const CallMessage& request);
  std::vector<Tensor> read(const Step& step);
  void send(const Step& step, const std::vector<Tensor>& outputs, const Json& request);

  // Everything below is used by the computing thread only.
  ServerLinks servers_;
  ShardCache shards_{servers_};
  std::map<std::string, std::shared_ptr<const Step>> steps_;
  std::map<int64_t, Batches> datasets_;
  SerialThread computing_;
};

}  // namespace cornu::distribute

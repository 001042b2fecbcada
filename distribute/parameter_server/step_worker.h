// SPDX-License-Identifier: Apache-2.0
// What a worker does for a coordinator: it runs the workers' parts of steps.
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
#include "framework/graph/backend.h"
#include "framework/strategy/batch_source.h"

namespace cornu::distribute {

// What a step is known by to a worker: the function's number, and dtypes and shapes of what it is
// given.
std::string step_signature(int64_t function, const std::vector<Tensor>& arguments);

// Steps and datasets of one job, on one worker. Thread-safe; steps are run one after the other.
class StepWorker {
 public:
  // `servers`: their addresses.
  StepWorker(const std::vector<std::string>& servers, const std::string& job,
             const CallCredentials& credentials);

  // The calls that a worker answers; NotFound for other methods.
  //   dataset {"dataset": n}, the bytes of a source: batches come from its beginning
  //   define  {"signature", "graph": text, "has_key", "values", "sums", "results",
  //            "read": [{"shape", "shards": [[server, key], …]}, …],
  //            "taken": [{"shape", "dtype", "shards", "ends", "indices"}, …], "ahead": text,
  //            "updates": [{"server", "update", "sent"}], "constants": how many of the graph},
  //           constants of both graphs
  //   run     {"function": n, "dataset": n or null, "held": bool}, arguments, then a key
  //           → {"signature"}, results, or {"needs": [[dtype, shape], …]}: the step isn't defined
  //           for these arguments, which are held where they come from a dataset
  // OutOfRange where a dataset has ended.
  CallMessage handle(const std::string& method, const CallMessage& request);

 private:
  struct Step;
  struct Batches {
    std::shared_ptr<BatchSource> source;
    std::unique_ptr<BatchIterator> iterator;
    std::optional<std::vector<Tensor>> held;
  };

  void define(const CallMessage& request);
  void make_dataset(const CallMessage& request);
  CallMessage run(const CallMessage& request);
  // `batches`: of which dataset they are, if any.
  std::vector<Tensor> arguments_of(const CallMessage& request, Batches*& batches);
  std::vector<Tensor> run_step(const Step& step, std::vector<Tensor> inputs, const Tensor& key);
  std::vector<Tensor> read(const Step& step);
  void send(const Step& step, const std::vector<Tensor>& outputs);

  // All of the computing thread's.
  ServerLinks servers_;
  ShardCache shards_{servers_};
  std::map<std::string, std::shared_ptr<const Step>> steps_;
  std::map<int64_t, Batches> datasets_;
  SerialThread computing_;
};

}  // namespace cornu::distribute

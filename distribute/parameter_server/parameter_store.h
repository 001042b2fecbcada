// SPDX-License-Identifier: Apache-2.0
// The state of a parameter server for one job.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "distribute/cluster/call_message.h"
#include "distribute/parameter_server/serial_thread.h"
#include "framework/graph/backend.h"

namespace cornu::distribute {

// Shards of variables, by the keys that the coordinator assigns, and the graphs that update them.
// Updates are executed one after another; a concurrent read returns the value before or after an
// update. Thread-safe.
class ParameterStore {
 public:
  // The calls that a server answers; throws NotFound for other methods, shards and updates.
  //   create {"keys": […]}, values
  //   read   {"keys": […], "versions": […]} → {"versions": […]} and the values that are newer
  //   rows   {"key"}, row numbers (int64) → these rows
  //   write  {"keys": […]}, values
  //   define {"update": n, "graph": text, "keys": [… by state]}, constants
  //   drop   {"keys": […]} or {"updates": […]}: shards or updates that are no longer needed
  //   update {"update": n, "step": n, "over": n}, the graph's inputs: a step that is run again,
  //   since
  //          its worker was lost, doesn't update a second time, nor does one that is over, as all
  //          steps before "over" are
  CallMessage handle(const std::string& method, const CallMessage& request);

 private:
  struct Update {
    std::vector<Variable> states;
    std::vector<TensorType> inputs;
    std::unique_ptr<Executable> executable;
  };

  void create(const CallMessage& request);
  CallMessage read(const CallMessage& request);
  CallMessage rows(const CallMessage& request);
  void write(const CallMessage& request);
  void define(const CallMessage& request);
  void update(const CallMessage& request);
  void drop(const CallMessage& request);
  Variable shard(const std::string& key);
  bool begin_step(int64_t step, int64_t over);

  SerialThread computing_;
  // The next two are used by the computing thread only.
  int64_t over_ = 0;              // steps before it no longer update
  std::set<int64_t> updated_by_;  // steps from there on that have done so
  // Rows aren't copied during an update: the update would have to copy the whole table first.
  std::mutex updating_;
  std::mutex mutex_;  // guards all members below
  std::map<std::string, Variable> shards_;
  std::map<int64_t, std::shared_ptr<Update>> updates_;
};

}  // namespace cornu::distribute

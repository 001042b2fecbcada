// SPDX-License-Identifier: Apache-2.0
// The CPU's executable: one program a local replica, on persistent threads where there are several.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "cornu/backends/cpu/program.h"
#include "cornu/graph/backend.h"

namespace cornu::cpu {

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Graph graph, const ExecutableOptions& options);
  ~CpuExecutable() override;

  void run(std::span<ReplicaArgs> replicas) override;
  std::string describe() const override;
  size_t workspace_bytes() const override { return programs_.front()->workspace_bytes(); }

 private:
  void run_replica(size_t index, ReplicaArgs& args, char& touched);
  void poison(std::span<ReplicaArgs> replicas, const std::exception_ptr& cause) const;

  std::string name_;
  std::vector<std::unique_ptr<Program>> programs_;  // by replica; made on first use
};

}  // namespace cornu::cpu

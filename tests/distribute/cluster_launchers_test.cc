// SPDX-License-Identifier: Apache-2.0
// Resolvers of clusters that are described by a launcher's environment variables.
#include <doctest/doctest.h>

#include "distribute/cluster/environment_resolver.h"
#include "distribute/cluster/mpi_resolver.h"
#include "distribute/cluster/slurm_resolver.h"
#include "tests/distribute/cluster_variables.h"
#include "tests/support/errors.h"

using namespace cornu;
using namespace cornu::distribute;
using namespace cornu::test;

namespace {

using Texts = std::vector<std::string>;

const Variables kStep = {{"SLURM_PROCID", "3"},
                         {"SLURM_STEP_NUM_TASKS", "5"},
                         {"SLURM_STEP_NODELIST", "n[09-10],m"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"}};
const Variables kTorchrun = {{"RANK", "1"},          {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},    {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "ada"}, {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};

Texts workers_of(const ClusterResolver& resolver) {
  return resolver.cluster_spec().job_tasks("worker");
}
SlurmClusterResolver slurm(const Variables& variables) {
  return SlurmClusterResolver({.read = reads(variables)});
}
EnvironmentClusterResolver torchrun(const Variables& variables) {
  return EnvironmentClusterResolver({.read = reads(variables)});
}
MPIClusterResolver mpi(const Variables& variables) {
  return MPIClusterResolver({.read = reads(variables)});
}

}  // namespace

TEST_CASE("Slurm's lists of nodes") {
  CHECK(expand_node_list("n[001-003,7],m1") == Texts{"n001", "n002", "n003", "n7", "m1"});
  CHECK(expand_node_list("localhost") == Texts{"localhost"});
  CHECK(expand_node_list("r[1-2]n[08-09]x") == Texts{"r1n08x", "r1n09x", "r2n08x", "r2n09x"});
  CHECK(expand_node_list("a,n[9-11]") == Texts{"a", "n9", "n10", "n11"});
  CHECK(expand_node_list("n[098-101]").back() == "n101");
  for (const char* text :
       {"", ",", "a,", ",a", "n[", "n[]", "n[1", "n[1-]", "n[-1]", "n[3-1]", "n[a]", "n]", "n[1]]",
        "n[[1]]", "n[1,]", "n[0-99999999]", "n[1-9999][1-9999]", "n[99999999999999999999]"}) {
    CAPTURE(text);
    CHECK(message_of([&] { expand_node_list(text); }) ==
          "SlurmClusterResolver: expected a list of nodes like n[001-003,7],m1 (at most 100000 "
          "nodes), got '" +
              std::string(text) + "'.");
  }
}

TEST_CASE("Slurm's tasks by node") {
  CHECK(expand_tasks_per_node("2(x3),1") == std::vector<int64_t>{2, 2, 2, 1});
  CHECK(expand_tasks_per_node("4") == std::vector<int64_t>{4});
  CHECK(expand_tasks_per_node("1,3(x1)") == std::vector<int64_t>{1, 3});
  for (const char* text : {"", "2(x", "2(x)", "2(x0)", "(x2)", "2(x2", "-1", "2,", "2(x99999999)",
                           "99999999", "2 (x2)"}) {
    CAPTURE(text);
    CHECK(message_of([&] { expand_tasks_per_node(text); }) ==
          "SlurmClusterResolver: expected numbers of tasks by node like 2(x3),1 (at most 100000 "
          "nodes), got '" +
              std::string(text) + "'.");
  }
}

TEST_CASE("a Slurm step is a cluster, with a port for each task of a node") {
  const auto resolver = slurm(kStep);
  CHECK(resolver.name() == "SlurmClusterResolver");
  CHECK(workers_of(resolver) == Texts{"n09:8888", "n09:8889", "n10:8888", "n10:8889", "m:8888"});
  CHECK(resolver.task() == Task{"worker", 3});
  CHECK(resolver.rpc_layer() == "grpc");
  CHECK(resolver.master() == "grpc://n10:8889");
  CHECK(workers_of(slurm(with(kStep, {{"CORNU_PORT_BASE", "7000"}}))).front() == "n09:7000");

  const SlurmClusterResolver named(
      {.jobs = {{"worker", 3}, {"chief", 1}, {"ps", 1}}, .port_base = 5000, .read = reads(kStep)});
  CHECK(named.cluster_spec() == ClusterSpec({{"chief", {"n09:5000"}},
                                             {"ps", {"n09:5001"}},
                                             {"worker", {"n10:5000", "n10:5001", "m:5000"}}}));
  CHECK(named.task() == Task{"worker", 1});
}

TEST_CASE("Slurm's ways to distribute tasks over nodes") {
  const auto distributed = [](const char* how, const Variables& more = {}) {
    return workers_of(slurm(with(with(kStep, {{"SLURM_DISTRIBUTION", how}}), more)));
  };
  const Texts block = {"n09:8888", "n09:8889", "n10:8888", "n10:8889", "m:8888"};
  const Texts cyclic = {"n09:8888", "n10:8888", "m:8888", "n09:8889", "n10:8889"};
  CHECK(distributed("block") == block);
  CHECK(distributed("block:cyclic,NoPack") == block);
  CHECK(distributed("cyclic") == cyclic);
  CHECK(distributed("cyclic:block") == cyclic);
  CHECK(distributed("plane=2") == block);
  CHECK(distributed("plane", {{"SLURM_DIST_PLANESIZE", "1"}}) == cyclic);
  CHECK(message_of<Unimplemented>([&] { distributed("arbitrary"); }) ==
        "SlurmClusterResolver: expected the distribution block, cyclic or plane, got 'arbitrary'. "
        "Start the step with one of these (srun --distribution=block), or set TF_CONFIG.");
}

TEST_CASE("Slurm's variables that don't fit together") {
  CHECK(message_of<FailedPrecondition>([] { slurm(without(kStep, "SLURM_PROCID")); }) ==
        "SlurmClusterResolver: the environment variable SLURM_PROCID must be set, and isn't.");
  CHECK(message_of([] {
          slurm(with(kStep, {{"SLURM_PROCID", "5"}}));
        }) ==
        "SlurmClusterResolver: expected a number from 0 to 4 in the environment variable "
        "SLURM_PROCID, got '5'.");
  CHECK(message_of([] {
          slurm(with(kStep, {{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}}));
        }).ends_with("got 3 nodes, 2 nodes and 4 tasks, and 5 tasks."));
  CHECK(message_of([] {
          slurm(with(kStep, {{"SLURM_STEP_NUM_TASKS", "6"}}));
        }).ends_with("got 3 nodes, 3 nodes and 5 tasks, and 6 tasks."));
  CHECK(
      message_of([] {
        SlurmClusterResolver({.jobs = {{"worker", 4}}, .read = reads(kStep)});
      }) ==
      "SlurmClusterResolver: expected jobs with 5 tasks together, as SLURM_STEP_NUM_TASKS has it, "
      "got 4.");
  CHECK(message_of([] {
          SlurmClusterResolver({.jobs = {{"ps", 2}, {"worker", 4}}, .read = reads(kStep)});
        }).ends_with("got 4 of 'worker' after 2 others."));
  CHECK(message_of([] { SlurmClusterResolver({.port_base = 65535, .read = reads(kStep)}); }) ==
        "SlurmClusterResolver: expected ports from 1 to 65535, got 65536 for a task on n09. Begin "
        "with a lower one.");
}

TEST_CASE("torchrun on one machine: a port for each rank") {
  const auto resolver = torchrun(kTorchrun);
  CHECK(resolver.name() == "EnvironmentClusterResolver");
  CHECK(workers_of(resolver) == Texts{"ada:29500", "ada:29501", "ada:29502", "ada:29503"});
  CHECK(resolver.task() == Task{"worker", 1});
  // torchrun's agent uses MASTER_PORT itself.
  CHECK(workers_of(torchrun(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))).front() ==
        "ada:29501");
  // Without LOCAL_WORLD_SIZE, a loopback address tells that there is one machine.
  const Variables bare = {
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1234"}};
  CHECK(workers_of(torchrun(bare)) == Texts{"127.0.0.1:1234", "127.0.0.1:1235"});
  CHECK(workers_of(torchrun(with(bare, {{"MASTER_ADDR", "::1"}}))).front() == "[::1]:1234");
}

TEST_CASE("torchrun on several machines needs their addresses") {
  const Variables two = with(kTorchrun, {{"RANK", "3"}, {"LOCAL_WORLD_SIZE", "2"}});
  CHECK(
      message_of<FailedPrecondition>([&] { torchrun(two); }) ==
      "EnvironmentClusterResolver: the 4 ranks are on several machines, and torchrun has only the "
      "address of the first one. Set the environment variable CORNU_HOSTS to all machines, in the "
      "order of ranks: CORNU_HOSTS=host1,host2 (or host1:2222,host1:2223,…, one for each rank).");
  const auto hosts = [&](const char* list) {
    return workers_of(torchrun(with(two, {{"CORNU_HOSTS", list}})));
  };
  CHECK(hosts("ada,bob") == Texts{"ada:29500", "ada:29501", "bob:29500", "bob:29501"});
  CHECK(hosts("ada,bob:7000") == Texts{"ada:29500", "ada:29501", "bob:7000", "bob:7001"});
  CHECK(hosts("ada,ada,bob,bob") == Texts{"ada:29500", "ada:29501", "bob:29500", "bob:29501"});
  CHECK(hosts("ada:1,ada:2,bob:3,bob:4") == Texts{"ada:1", "ada:2", "bob:3", "bob:4"});
  CHECK(hosts("[::1]:7,[::2]") == Texts{"[::1]:7", "[::1]:8", "[::2]:29500", "[::2]:29501"});
  CHECK(
      message_of([&] { hosts("ada,bob,cleo"); }) ==
      "EnvironmentClusterResolver: expected 4 hosts in CORNU_HOSTS, one for each rank, or one for "
      "each machine when all have equally many; got 3 hosts, with 2 ranks on this machine.");
  CHECK(message_of([&] {
          torchrun(with(two, {{"LOCAL_RANK", "0"}, {"CORNU_HOSTS", "ada,bob"}}));
        }) ==
        "EnvironmentClusterResolver: CORNU_HOSTS names machines, whose ranks have to follow each "
        "other, but rank 3 is number 0 of its machine. Name the host of each rank, or let torchrun "
        "fill one machine after the other.");
  for (const char* list :
       {"ada,", "ada:x,bob", "ada:0,bob", "ada:70000,bob", "a b,bob", ":1,bob"}) {
    CAPTURE(list);
    CHECK(
        message_of([&] { hosts(list); })
            .starts_with("EnvironmentClusterResolver: expected hosts like \"ada,bob:2222\" in the "
                         "environment variable CORNU_HOSTS, got '"));
  }
  CHECK(message_of([&] { hosts("ada:1,ada:1,bob:3,bob:4"); })
            .starts_with("EnvironmentClusterResolver: worker 0 and worker 1 both have the address "
                         "ada:1."));
}

TEST_CASE("torchrun's variables: what is missing or wrong") {
  CHECK(message_of<FailedPrecondition>([] { torchrun(without(kTorchrun, "MASTER_PORT")); }) ==
        "EnvironmentClusterResolver: the environment variable MASTER_PORT must be set, and isn't.");
  CHECK(
      message_of([] {
        torchrun(with(kTorchrun, {{"RANK", "one"}}));
      }) ==
      "EnvironmentClusterResolver: expected a number from 0 to 3 in the environment variable RANK, "
      "got 'one'.");
}

TEST_CASE("mpirun on one machine") {
  const Texts local = {"127.0.0.1:8888", "127.0.0.1:8889", "127.0.0.1:8890"};
  CHECK(workers_of(mpi(kOpenMpi)) == local);
  CHECK(mpi(kOpenMpi).task() == Task{"worker", 2});
  CHECK(workers_of(mpi({{"PMI_RANK", "0"},
                        {"PMI_SIZE", "3"},
                        {"MPI_LOCALRANKID", "0"},
                        {"MPI_LOCALNRANKS", "3"}})) == local);
  CHECK(workers_of(mpi({{"MV2_COMM_WORLD_RANK", "0"},
                        {"MV2_COMM_WORLD_SIZE", "3"},
                        {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
                        {"MV2_COMM_WORLD_LOCAL_SIZE", "3"}})) == local);
  CHECK(workers_of(mpi({{"PMIX_RANK", "1"}, {"WORLD_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "3"}})) ==
        local);
  const Variables with_master = with(kOpenMpi, {{"MASTER_ADDR", "ada"}, {"MASTER_PORT", "7000"}});
  CHECK(workers_of(mpi(with_master)) == Texts{"ada:7000", "ada:7001", "ada:7002"});
  CHECK(workers_of(MPIClusterResolver({.port_base = 50, .read = reads(with_master)})).front() ==
        "ada:50");
}

TEST_CASE("mpirun on several machines needs their addresses") {
  const Variables two = with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "4"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                        {"MASTER_ADDR", "127.0.0.1"}});
  CHECK(message_of<FailedPrecondition>([&] { mpi(two); })
            .starts_with(
                "MPIClusterResolver: the 4 ranks are on several machines, and mpirun has only the "
                "address of the first one. Set the environment variable CORNU_HOSTS"));
  CHECK(workers_of(mpi(with(two, {{"CORNU_HOSTS", "ada,bob"}}))) ==
        Texts{"ada:8888", "ada:8889", "bob:8888", "bob:8889"});
  CHECK(message_of<FailedPrecondition>([] {
          mpi({{"PMIX_RANK", "0"}});
        }).ends_with("Start the program with mpirun."));
}

TEST_CASE("the resolver that an environment calls for") {
  const auto name_of = [](const Variables& variables) -> std::string {
    const auto resolver = resolve_default(reads(variables));
    return resolver ? resolver->name() : "none";
  };
  const char* config =
      R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})";
  CHECK(name_of({}) == "none");
  CHECK(name_of({{"TF_CONFIG", " "}}) == "none");
  CHECK(name_of({{"TF_CONFIG", config}}) == "TFConfigClusterResolver");
  CHECK(name_of(with(kStep, {{"TF_CONFIG", config}})) == "TFConfigClusterResolver");
  CHECK(name_of(kStep) == "SlurmClusterResolver");
  CHECK(name_of(kOpenMpi) == "MPIClusterResolver");
  CHECK(name_of(kTorchrun) == "EnvironmentClusterResolver");
  // Incomplete variables, or a single task: no cluster.
  CHECK(name_of(without(kTorchrun, "MASTER_ADDR")) == "none");
  CHECK(name_of(with(kTorchrun, {{"WORLD_SIZE", "1"}, {"RANK", "0"}})) == "none");
  CHECK(name_of(without(kStep, "SLURM_STEP_NODELIST")) == "none");
  CHECK(name_of(with(kStep, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}})) == "none");
  // srun sets the ranks of MPI programs, too, but it knows the addresses.
  CHECK(name_of(with(kStep, {{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}})) == "SlurmClusterResolver");
  // mpirun and torchrun within Slurm tasks start other processes.
  CHECK(name_of(with(kStep, kOpenMpi)) == "MPIClusterResolver");
  CHECK(name_of(with(kStep, kTorchrun)) == "EnvironmentClusterResolver");
  CHECK(message_of([&] { name_of({{"TF_CONFIG", "x"}}); }).starts_with("TF_CONFIG: expected JSON"));
}

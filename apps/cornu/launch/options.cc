// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/options.h"

#include <fmt/core.h>

#include "apps/cornu/usage.h"

namespace apps {
namespace {

constexpr int kMaxTasks = 1000;

constexpr const char* kMore =
    R"(Each task is the program, with the cluster and its place in it in TF_CONFIG. It has its share of
this machine's cores (OMP_NUM_THREADS says how many), its output is prefixed with its name, and it
reads nothing. A task that fails is started again, up to --max-restarts times; when one has failed
for good, the others get SIGTERM, and SIGKILL after --grace seconds. The job continues without an
evaluator that has failed for good.

With --elastic, when it was a worker, the others (a chief and parameter servers, too) are then
restarted with one worker fewer, each with all its restarts, and resume from the state that they have
saved; an evaluator stays as it is. A chief or a parameter server that has failed for good ends the
job: no other task has its part.

Ctrl-C goes to all tasks; the second one kills them. What a task has started ends with it, or, where
that has a group of its own, with the job; a session of its own is left alone. When the workers are
done, evaluators are ended. In a job with a chief and parameter servers, the chief is who has to be
done: signals reach its workers and parameter servers after it has ended. They end by themselves
(Server::join returns), and get SIGTERM if they haven't done so after --grace seconds.

Exit code: 0 when the workers succeeded, else that of the first task that failed for good (128 + the
signal that killed it). A worker that fails after all have come to their ends has failed for good,
although it is started again: it finds nothing left to do with the others.

Examples:
  cornu launch -n 4 -- ./program --epochs 3
  cornu launch -n 2 --evaluator --max-restarts 3 -- ./program
  cornu launch -n 4 --max-restarts 1 --elastic 2 -- ./program
  cornu launch --hosts ada,bob -- ./program      what to run on each of two machines)";

// Like CLI::Range, which also lets NaN pass, without its bounds in the help.
template <class T>
CLI::Validator within(T least, T most) {
  const auto check = [=](std::string& text) {
    T value{};
    const bool is_within =
        CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return is_within ? "" : fmt::format("expected {} to {}, got {}", least, most, text);
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::App* add_launch_command(CLI::App& tool, LaunchOptions& options) {
  CLI::App* command = tool.add_subcommand(
      "launch",
      "Runs a program as a cluster of workers on this machine, or says how to on several");
  set_usage(*command, "cornu launch [OPTIONS] -- PROGRAM [ARGUMENTS]");
  command->footer(kMore);
  command->add_option("-n,--workers", options.workers, "Workers (default: 1; or one for each host)")
      ->type_name("N")
      ->check(within(1, kMaxTasks));
  command->add_flag("--chief", options.chief, "A chief besides the workers");
  command->add_option("--ps", options.parameter_servers, "Parameter servers")
      ->type_name("N")
      ->check(within(0, kMaxTasks));
  command->add_flag("--evaluator", options.evaluator,
                    "A task that evaluates what the workers write");
  command
      ->add_option("--max-restarts", options.max_restarts,
                   "How often a task that fails is started again (default: 0)")
      ->type_name("N")
      ->check(within(0, 1'000'000));
  command
      ->add_option(
          "--elastic", options.elastic,
          "When a worker has failed for good, continue with one fewer, as long as MIN are left")
      ->type_name("MIN")
      ->check(within(1, kMaxTasks));
  command
      ->add_option("--backoff", options.backoff,
                   "Before the first restart; twice as long before each further one, up to 30 "
                   "(default: 1)")
      ->type_name("SECONDS")
      ->check(within(0.0, 30.0));
  command
      ->add_option("--grace", options.grace,
                   "What tasks have to end when another one has failed (default: 30)")
      ->type_name("SECONDS")
      ->check(within(0.0, 1e6));
  command->add_flag("--insecure", options.insecure,
                    "Without a token: everybody who reaches the tasks' ports is trusted");
  command->add_option("--hosts", options.hosts, "Print what to run on each of these machines")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--port", options.port,
                   "With --hosts: where the first task of each listens (default: 8888)")
      ->type_name("PORT")
      ->check(within(1, 65535));
  return command;
}

}  // namespace apps

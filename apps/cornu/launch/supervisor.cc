// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/supervisor.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "apps/cornu/launch/error.h"
#include "apps/cornu/launch/orphans.h"

namespace apps {
namespace {

constexpr double kLongestBackoff = 30;
// A task that ran for this long before it failed restarts with its initial back-off.
constexpr auto kRanWell = std::chrono::minutes(1);

// Time limit for killed processes left behind by a task to end, and e.g. release its port.
constexpr auto kEndsAfterKill = std::chrono::seconds(10);
constexpr auto kLooks = std::chrono::milliseconds(20);

// Exit code of a worker that has ended successfully while others compute with it (EX_TEMPFAIL of
// sysexits.h).
constexpr int kLeftEarly = 75;

std::string random_token() {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    fail_launch("the system has no randomness");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

std::chrono::steady_clock::duration seconds(double count) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(count));
}

bool is_empty(const cornu::FileDescriptor& file) {
  struct stat status {};
  return fstat(file.get(), &status) != 0 || status.st_size == 0;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::string how_it_ended(int code) {
  if (code <= 128) return fmt::format("ended with code {}", code);
  const char* name = sigdescr_np(code - 128);
  return fmt::format("ended with code {} ({})", code, name ? name : "no signal");
}

}  // namespace

Signals::Signals() {
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, exit codes of tasks are lost
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (!is_ignored(signal)) sigaddset(&ours, signal);
  }
  sigprocmask(SIG_BLOCK, &ours, &before_);
  std::signal(SIGPIPE, SIG_IGN);
  file_ = cornu::FileDescriptor(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_.is_open()) fail_launch("no file for signals: {}", std::strerror(errno));
}

int Signals::next() {
  signalfd_siginfo info;
  return ::read(file_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
}

Supervisor::Supervisor(const LaunchOptions& options)
    : options_(options),
      output_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      ended_(memfd_create("ended", MFD_CLOEXEC)) {
  options_.workers = std::max(options_.workers, 1);
  if (!ended_.is_open()) fail_launch("no file for what has ended: {}", std::strerror(errno));
  const std::vector<pid_t> children = children_in_session();
  strangers_.insert(children.begin(), children.end());
  adopt_orphans();
  add_runs();
  if (!options_.insecure && !std::getenv("CORNU_JOB_TOKEN") &&
      !std::getenv("CORNU_JOB_TOKEN_FILE")) {
    token_ = random_token();
  }
}

// Whether others compute with the task.
bool Supervisor::computes(const Run& run) { return run.task.type != "evaluator"; }

// Whether the task takes every step together with the others; a parameter server only serves them.
bool Supervisor::is_worker(const Run& run) { return computes(run) && run.task.type != "ps"; }

Supervisor::Run Supervisor::run_of(const PlannedTask& task, int number, CpuShare share) {
  Run run{.task = task,
          .port = {},
          .share = std::move(share),
          .output = Lines(task.name(), number, output_),
          .errors = Lines(task.name(), number, errors_)};
  run.backoff = options_.backoff;
  return run;
}

// An existing evaluator is kept.
void Supervisor::add_runs() {
  std::vector<Run> evaluators = std::move(runs_);
  std::erase_if(evaluators, computes);
  runs_.clear();
  tasks_ = plan_tasks(options_);
  const std::vector<CpuShare> shares = share_cpus(static_cast<int>(tasks_.size()));
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].type == "evaluator" && !evaluators.empty()) {
      runs_.push_back(std::move(evaluators.front()));
      continue;
    }
    Run run = run_of(tasks_[i], static_cast<int>(i), shares[i]);
    if (computes(run)) {
      run.port = ReservedPort::reserve();
      run.task.address = tasks_[i].address = fmt::format("127.0.0.1:{}", run.port.number());
    }
    runs_.push_back(std::move(run));
  }
}

int Supervisor::run() {
  for (Run& run : runs_) {
    if (!run.is_over) start(run);
  }
  while (!is_over()) wait_for_events();
  end_orphans();
  write_what_is_kept();
  return late_code_.value_or(code_.value_or(0));
}

std::vector<std::string> Supervisor::environment_of(const Run& run, int listens) const {
  std::vector<std::string> ours = {
      "TF_CONFIG=" + tf_config(tasks_, run.task), fmt::format("CORNU_RESTARTS={}", run.restarts),
      "CORNU_BEGUN_FILE=" + begun_.name(),
      fmt::format("CORNU_ENDED_FILE=/proc/{}/fd/{}", ::getpid(), ended_.get())};
  if (listens >= 0) ours.push_back(fmt::format("CORNU_LISTEN_FD={}", listens));
  if (!token_.empty()) ours.push_back("CORNU_JOB_TOKEN=" + token_);
  if (options_.insecure) ours.emplace_back("CORNU_INSECURE=1");
  if (!std::getenv("OMP_NUM_THREADS")) {
    ours.push_back(fmt::format("OMP_NUM_THREADS={}", run.share.threads));
  }
  if (run.share.overlaps && !std::getenv("GOMP_SPINCOUNT")) ours.emplace_back("GOMP_SPINCOUNT=0");

  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> environment = ours;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view name = name_of(*entry);
    const bool replaced = name == "CORNU_LISTEN_FD" ||
                          std::any_of(ours.begin(), ours.end(),
                                      [&](const std::string& own) { return name_of(own) == name; });
    if (!replaced) environment.emplace_back(*entry);
  }
  return environment;
}

// Whether a process from the task's last life still listens on its port; it may be about to end.
bool Supervisor::waits_for_port(Run& run) {
  const Clock::time_point now = Clock::now();
  const bool waits = run.restarts > 0 && !run.task.address.empty() && !run.port.is_free() &&
                     now < run.waits.value_or(now + kEndsAfterKill);
  if (!waits) {
    run.waits.reset();
    return false;
  }
  if (!run.waits) {
    say(fmt::format("{} waits for a process of its last life, which listens on {}", run.task.name(),
                    run.task.address));
    run.waits = now + kEndsAfterKill;
  }
  run.starts = now + kLooks;
  return true;
}

void Supervisor::start(Run& run) {
  run.starts.reset();
  if (waits_for_port(run)) return;
  cornu::FileDescriptor listens;
  if (!run.task.address.empty()) listens = run.port.socket();
  Child child = start_child({.command = options_.command,
                             .environment = environment_of(run, listens.get()),
                             .cpus = run.share.cpus,
                             .listens = listens.get(),
                             .signal_mask = signals_.mask_before()});
  if (child.error != 0) {
    say(fmt::format("'{}' can't be run: {}", options_.command.front(), std::strerror(child.error)));
    run.code = child.error == ENOENT ? 127 : 126;  // as in shells
    run.is_over = true;
    return fail(run);
  }
  run.process = child.pid;
  run.started = Clock::now();
  guard_.watch(run.process);
  run.output.read_from(std::move(child.output));
  run.errors.read_from(std::move(child.errors));
}

std::optional<Supervisor::Clock::time_point> Supervisor::next_deadline() const {
  std::optional<Clock::time_point> next = kills_;
  if (asks_ && (!next || *asks_ < *next)) next = asks_;
  for (const Run& run : runs_) {
    if (run.starts && (!next || *run.starts < *next)) next = run.starts;
  }
  return next;
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> files = {{signals_.file(), POLLIN, 0}, {begun_.file(), POLLIN, 0}};
  const size_t first = files.size();
  std::vector<std::function<bool()>> handlers;  // of the files starting there
  for (Sink* sink : {&output_, &errors_}) {
    if (!sink->is_full()) continue;
    files.push_back({sink->file(), POLLOUT, 0});
    handlers.emplace_back([sink] { return sink->flush(); });
  }
  for (Run& run : runs_) {
    for (Lines* lines : {&run.output, &run.errors}) {
      if (lines->file() < 0) continue;
      files.push_back({lines->file(), POLLIN, 0});
      handlers.emplace_back([lines] { return lines->forward(); });
    }
  }
  int64_t milliseconds = -1;
  if (const auto deadline = next_deadline()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    milliseconds = std::clamp<int64_t>(left, 0, 3'600'000);
  }
  if (::poll(files.data(), files.size(), static_cast<int>(milliseconds)) < 0 && errno != EINTR) {
    fail_launch("waiting for tasks: {}", std::strerror(errno));
  }
  for (size_t i = 0; i < handlers.size(); ++i) {
    if (files[first + i].revents != 0) forwarded(handlers[i]());
  }
  while (const int signal = signals_.next()) {
    if (signal != SIGCHLD) on_signal(signal);
  }
  find_ended();
  find_left_early();
  const Clock::time_point now = Clock::now();
  if (asks_ && now >= *asks_) {
    asks_.reset();
    signal_all(SIGTERM);
    kills_ = now + seconds(options_.grace);
  }
  if (kills_ && now >= *kills_) {
    kills_.reset();
    say("tasks that didn't end in time are killed");
    signal_all(SIGKILL);
  }
  for (Run& run : runs_) {
    if (run.starts && now >= *run.starts) start(run);
  }
  if (shrinks_) begin_anew();
}

void Supervisor::on_signal(int signal) {
  if (++signals_seen_ > 1) {
    say("a second signal: all tasks are killed");
    return signal_all(SIGKILL);
  }
  signal_all(signal);
  cancel_restarts();
}

// Tasks that serve a chief learn of it after the chief has ended, which may need them to save.
void Supervisor::signal_all(int signal) {
  const bool holds_back = signal != SIGKILL && (held_back_ || !deciding_are_over());
  for (const Run& run : runs_) {
    const bool stays = shrinks_ && signals_seen_ == 0 && !stops_ && !computes(run);
    if (holds_back && serves(run)) {
      held_back_ = held_back_.value_or(signal);
    } else if (run.process > 0 && !stays) {
      kill(-run.process, signal);
    }
  }
}

void Supervisor::signal_held_back() {
  if (!held_back_ || !deciding_are_over()) return;
  const int signal = *std::exchange(held_back_, std::nullopt);
  if (kills_) kills_ = Clock::now() + seconds(options_.grace);
  for (const Run& run : runs_) {
    if (serves(run) && run.process > 0) kill(-run.process, signal);
  }
}

void Supervisor::find_ended() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const pid_t process = std::exchange(info.si_pid, 0);
    const auto run = std::find_if(runs_.begin(), runs_.end(), [&](const Run& candidate) {
      return candidate.process == process;
    });
    // Processes that the task has started and left end with it: until the task is waited for, no
    // other group can have its number.
    if (run != runs_.end()) kill(-process, SIGKILL);
    waitpid(process, nullptr, 0);
    if (run == runs_.end()) continue;  // an orphan
    guard_.forget(process);
    run->process = -1;
    forwarded(run->output.finish());
    forwarded(run->errors.finish());
    on_end(*run, info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status);
  }
  signal_held_back();
}

// When all tasks have ended: ends what they have started in other groups, as shells with job
// control do.
void Supervisor::end_orphans() {
  for (const auto until = Clock::now() + kEndsAfterKill; Clock::now() < until;) {
    find_ended();
    std::vector<pid_t> left = children_in_session();
    std::erase_if(left, [&](pid_t process) { return strangers_.contains(process); });
    if (left.empty()) return;
    for (const pid_t process : left) kill(process, SIGKILL);  // their children become orphans then
    ::poll(nullptr, 0, kLooks.count());
  }
}

void Supervisor::on_end(Run& run, int code) {
  look_for_begun();
  if (code == 0 && left_early(run)) {
    say(run.task.name() + " has left the others, which still compute with it");
    code = kLeftEarly;
  }
  run.code = code;
  if (shrinks_ && computes(run)) {
    run.is_over = true;
    return;
  }
  const bool may_restart = !stops_ && signals_seen_ == 0 && run.restarts < options_.max_restarts;
  if (code != 0 && may_restart) {
    keep_late_code(run);
    return restart_later(run);
  }
  run.is_over = true;
  if (code != 0 && may_shrink(run)) return shrink(run);
  if (code != 0 && !stops_) {
    const bool is_needed = options_.elastic > 0 && computes(run) && run.task.type != "worker";
    say(fmt::format("{} {}{}", run.task.name(), how_it_ended(code),
                    is_needed ? "; --elastic continues without workers only" : ""));
    fail(run);
  }
  if (!shrinks_ && deciding_are_over()) stop();
}

// If workers begin to compute, what one of them has missed by then wasn't the end.
void Supervisor::look_for_begun() {
  if (!begun_.take()) return;
  has_begun_ = true;
  if (is_empty(ended_)) late_code_.reset();
}

// Finds workers that have ended successfully before the others have begun, which wait for them.
void Supervisor::find_left_early() {
  look_for_begun();
  for (Run& run : runs_) {
    if (run.is_over && run.code == 0 && left_early(run)) on_end(run, 0);
  }
}

bool Supervisor::left_early(const Run& run) const {
  const bool have_others = std::any_of(runs_.begin(), runs_.end(), [&](const Run& other) {
    return &other != &run && is_worker(other) && !other.is_over;
  });
  return is_worker(run) && have_others && !stops_ && !shrinks_ && signals_seen_ == 0 &&
         has_begun_ && is_empty(ended_);
}

// A worker is one of several equivalent ones; a chief or a parameter server can't be replaced.
bool Supervisor::may_shrink(const Run& run) const {
  return options_.elastic > 0 && options_.workers > options_.elastic && run.task.type == "worker" &&
         !stops_ && signals_seen_ == 0 && is_empty(ended_);
}

void Supervisor::shrink(Run& run) {
  say(fmt::format("{} {}; the others end, and continue with {} worker{}", run.task.name(),
                  how_it_ended(run.code), options_.workers - 1, options_.workers == 2 ? "" : "s"));
  shrinks_ = run.code;
  for (Run& other : runs_) {
    if (!computes(other) || other.process > 0) continue;
    other.starts.reset();
    other.is_over = true;
  }
  signal_all(SIGTERM);
  kills_ = Clock::now() + seconds(options_.grace);
}

// Called when all tasks that compute have ended.
void Supervisor::begin_anew() {
  const bool has_ended = std::all_of(
      runs_.begin(), runs_.end(), [](const Run& run) { return !computes(run) || run.process < 0; });
  if (!has_ended) return;
  const int code = *std::exchange(shrinks_, std::nullopt);
  kills_.reset();
  if (signals_seen_ > 0 || stops_ || !is_empty(ended_)) {  // there is nothing to continue with
    if (!code_) code_ = code;
    if (signals_seen_ == 0) stop();
    return;
  }
  --options_.workers;
  if (ftruncate(ended_.get(), 0) != 0) fail_launch("no new job: {}", std::strerror(errno));
  look_for_begun();
  has_begun_ = false;
  add_runs();
  for (Run& run : runs_) {
    if (computes(run) && !run.is_over) start(run);
  }
}

void Supervisor::restart_later(Run& run) {
  const Clock::time_point now = Clock::now();
  if (now - run.started >= kRanWell) run.backoff = options_.backoff;
  ++run.restarts;
  run.is_over = false;
  say(fmt::format("{} {}; it starts again in {:g} s ({} of {})", run.task.name(),
                  how_it_ended(run.code), run.backoff, run.restarts, options_.max_restarts));
  run.starts = now + seconds(run.backoff);
  run.backoff = std::min(2 * run.backoff, kLongestBackoff);
}

// A worker that is restarted after all have reached their ends has nothing left to do with them,
// and ends successfully; but what its program was doing then by itself isn't done. (With kLeftEarly
// it reports that another one has failed, whose code counts.)
void Supervisor::keep_late_code(const Run& run) {
  if (late_code_ || !is_worker(run) || is_empty(ended_) || run.code == kLeftEarly) return;
  late_code_ = run.code;
  say(
      fmt::format("{} failed after all had come to their ends; the job ends with its code, {}, "
                  "unless they start over",
                  run.task.name(), run.code));
}

void Supervisor::fail(const Run& run) {
  if (run.task.type == "evaluator") return;  // training continues without it
  if (!code_) code_ = run.code;
  if (signals_seen_ == 0) stop();  // otherwise all have been told already
}

// Where those that decide have ended well, tasks that only serve them don't count.
void Supervisor::cancel_restarts() {
  const bool counts = !deciding_are_over();
  for (Run& run : runs_) {
    if (!run.starts) continue;
    run.starts.reset();
    run.is_over = true;
    if (counts && run.task.type != "evaluator" && !code_) code_ = run.code;
  }
}

void Supervisor::stop() {
  if (stops_) return;
  stops_ = true;
  cancel_restarts();
  for (Run& run : runs_) {
    if (run.process < 0) run.is_over = true;  // it hasn't been started, or has ended
  }
  const Clock::time_point later = Clock::now() + seconds(options_.grace);
  const bool have_servers =
      std::ranges::any_of(runs_, [&](const Run& run) { return serves(run) && run.process > 0; });
  if (have_servers && deciding_are_over() && !code_ && signals_seen_ == 0) {
    asks_ = later;  // they end by themselves
    for (const Run& run : runs_) {
      if (!serves(run) && run.process > 0) kill(-run.process, SIGTERM);
    }
    return;
  }
  signal_all(SIGTERM);
  kills_ = later;
}

// With parameter servers and a chief, workers serve the chief.
bool Supervisor::decides(const Run& run) const {
  if (run.task.type == "chief") return true;
  return run.task.type == "worker" && !(options_.chief && options_.parameter_servers > 0);
}

bool Supervisor::serves(const Run& run) const { return computes(run) && !decides(run); }

bool Supervisor::deciding_are_over() const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [&](const Run& run) { return run.is_over || !decides(run); });
}

bool Supervisor::is_over() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.is_over; });
}

void Supervisor::say(const std::string& text) {
  static_cast<void>(errors_.write(fmt::format("cornu: {}\n", text)));
}

// All tasks have ended, but the reader of their output may be slow or hang: a signal ends the wait
// for it.
void Supervisor::write_what_is_kept() {
  kills_.reset();
  asks_.reset();
  const int seen = signals_seen_;
  while ((output_.is_full() || errors_.is_full()) && signals_seen_ < 2 && signals_seen_ == seen) {
    wait_for_events();
  }
}

void Supervisor::forwarded(bool well) {
  // The output has no reader any more: a program without a launcher would get SIGPIPE.
  if (!well && signals_seen_ == 0 && !stops_) {
    if (!code_) code_ = 128 + SIGPIPE;
    stop();
  }
}

}  // namespace apps

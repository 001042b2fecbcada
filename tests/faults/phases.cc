// SPDX-License-Identifier: Apache-2.0
// A training that is killed in the middle of a step, or while it writes a state, for phases.py:
// usage: test_faults_phases FOLDER OUTPUT. The state is kept in FOLDER, by every worker if
// CORNU_TEST_ON_EVERY_WORKER is set; worker 0 writes the weights to OUTPUT. SIGKILL comes in step
// CORNU_TEST_STEP of the process, in the phase that CORNU_TEST_PHASE names: "forward" is when the
// workers have begun the step together, "all-reduce" when part of what it sends has left,
// "optimizer" when the sums of the gradients have arrived. For the state of this number: "half
// written", "written" before it is synced, "synced" before it is put in place, "in place". (The
// program is linked with --wrap, so that the library's calls of write, fsync and rename come here
// first.)
#include <cornu/cornu.h>
#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "distribute/collectives/collectives.h"

using namespace cornu;
using namespace cornu::distribute;

namespace {

class Moment {
 public:
  void begins_step() {
    ++steps_;
    reduces_ = false;
    if (is("forward")) std::raise(SIGKILL);
  }
  void begins_reduction() {
    reduces_ = true;
    sent_ = 0;
  }
  void sends() {
    if (reduces_ && ++sent_ == 2 && is("all-reduce")) std::raise(SIGKILL);
  }
  void ends_reduction() {
    reduces_ = false;
    if (is("optimizer")) std::raise(SIGKILL);
  }

  // Returns whether the writing of the state is to be ended here. `file` is the path of a file that
  // is about to be written, on any thread.
  bool ends_writing(const std::string& file, const std::string& phase) {
    if (file.find("/.run_state.") == std::string::npos) return false;
    if (file != written_) ++states_;
    written_ = file;
    return phase == phase_ && states_ == step_;
  }
  // States are written by another thread, which skips those that come too fast for it.
  void wait_for_state(int number) const {
    while (is_of_writing() && states_ < std::min(number, step_)) std::this_thread::yield();
  }

 private:
  bool is(const std::string& phase) const { return phase == phase_ && steps_ == step_; }
  bool is_of_writing() const {
    return phase_ == "half written" || phase_ == "written" || phase_ == "synced" ||
           phase_ == "in place";
  }

  static std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
  }

  const std::string phase_ = variable("CORNU_TEST_PHASE");
  const int step_ = std::atoi(variable("CORNU_TEST_STEP").c_str());
  int steps_ = 0;
  bool reduces_ = false;
  int sent_ = 0;
  std::atomic<int> states_ = 0;  // whose writing has begun
  std::string written_;          // the last one's file
};

Moment& moment() {
  static Moment moment;
  return moment;
}

class WatchedTransport : public Transport {
 public:
  explicit WatchedTransport(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  size_t send(int to, std::span<const std::byte> bytes) override {
    moment().sends();
    return inner_.send(to, bytes);
  }
  std::span<const std::byte> received(int from, size_t wanted) override {
    return inner_.received(from, wanted);
  }
  void consume(int from, size_t bytes) override { inner_.consume(from, bytes); }
  size_t receive(int from, std::span<std::byte> bytes) override {
    return inner_.receive(from, bytes);
  }
  void wait(int to, int from) override { inner_.wait(to, from); }
  void abort(std::exception_ptr why) override { inner_.abort(std::move(why)); }
  bool shares_memory() const override { return inner_.shares_memory(); }
  std::byte* memory(size_t bytes) override { return inner_.memory(bytes); }
  std::span<const std::byte> own_memory() const override { return inner_.own_memory(); }
  SharedBlock::Handle memory_handle() const override { return inner_.memory_handle(); }
  std::span<const std::byte> memory_of(int rank, const SharedBlock::Handle& handle) override {
    return inner_.memory_of(rank, handle);
  }

 private:
  Transport& inner_;
};

class WatchedCollectives : public Collectives {
 public:
  WatchedCollectives(Transport& transport, const CollectivesOptions& options)
      : transport_(transport), inner_(ring_communication().make(transport_, options)) {}

  void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                  int64_t divisor) override {
    moment().begins_reduction();
    inner_->all_reduce(what, segments, divisor);
    moment().ends_reduction();
  }
  void reduce_scatter(const CollectiveCall& what, const void* in, void* out, int64_t count_per_rank,
                      int64_t divisor) override {
    inner_->reduce_scatter(what, in, out, count_per_rank, divisor);
  }
  void all_gather(const CollectiveCall& what, const void* in, void* out,
                  size_t bytes_per_rank) override {
    inner_->all_gather(what, in, out, bytes_per_rank);
    // The exchange at the beginning of a step is larger than the size of a text.
    if (is_training && what.root < 0 && bytes_per_rank > sizeof(uint64_t) && !in_text_) {
      moment().begins_step();
    }
    in_text_ = what.root < 0 && bytes_per_rank == sizeof(uint64_t);  // the text itself follows
  }
  void broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) override {
    inner_->broadcast(what, data, bytes, root);
  }
  void barrier(const CollectiveCall& what) override { inner_->barrier(what); }

  static bool is_training;

 private:
  WatchedTransport transport_;
  std::unique_ptr<Collectives> inner_;
  bool in_text_ = false;
};

bool WatchedCollectives::is_training = false;

constexpr int kStepsOfState = 2;

class NotesTraining : public Callback {
 public:
  void on_train_batch_begin(int64_t, const Logs&) override {
    WatchedCollectives::is_training = true;
  }
  void on_train_batch_end(int64_t, const Logs&) override {
    WatchedCollectives::is_training = false;
    moment().wait_for_state(++steps_ / kStepsOfState);
  }

 private:
  int steps_ = 0;
};

void train(const std::string& folder, const std::string& output) {
  register_communication("watched", {.make =
                                         [](Transport& transport, const CollectivesOptions& how) {
                                           return std::make_unique<WatchedCollectives>(transport,
                                                                                       how);
                                         },
                                     .peers = ring_communication().peers});
  set_random_seed(7);
  const MultiWorkerMirroredStrategy strategy(
      {.communication_options = {.implementation = CommunicationImplementation("watched")}});
  const auto scope = strategy.scope();
  const Tensor x = random::normal({40, 16}, {.seed = 1});
  Sequential model({Input({.shape = {16}}), layers::Dense({.units = 256, .activation = "relu"}),
                    layers::Dropout({.rate = 0.3}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::Adam(), .loss = "mse"});
  model.fit(
      x, ops::sum(x, 1, true),
      {.batch_size = 8,
       .epochs = 2,
       .verbose = 0,
       .callbacks = {callbacks::BackupAndRestore(
                         {.backup_dir = folder,
                          .save_freq = kStepsOfState,
                          .on_every_worker = std::getenv("CORNU_TEST_ON_EVERY_WORKER") != nullptr}),
                     make_callback<NotesTraining>()}});
  if (!strategy.is_chief()) return;
  std::ofstream file(output, std::ios::binary);
  for (const Tensor& weight : model.get_weights()) {
    file.write(reinterpret_cast<const char*>(weight.raw()),
               static_cast<std::streamsize>(weight.bytes()));
  }
}

std::string path_of(int file) {
  std::error_code error;  // if it isn't a file
  return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), error).string();
}

}  // namespace

extern "C" {

ssize_t __real_write(int file, const void* data, size_t bytes);
int __real_fsync(int file);
int __real_rename(const char* from, const char* to);

ssize_t __wrap_write(int file, const void* data, size_t bytes) {
  if (!moment().ends_writing(path_of(file), "half written") || bytes < 1024) {
    return __real_write(file, data, bytes);
  }
  const ssize_t written = __real_write(file, data, bytes / 2);
  std::raise(SIGKILL);
  return written;
}
int __wrap_fsync(int file) {
  if (moment().ends_writing(path_of(file), "written")) std::raise(SIGKILL);
  return __real_fsync(file);
}
int __wrap_rename(const char* from, const char* to) {
  if (moment().ends_writing(from, "synced")) std::raise(SIGKILL);
  const int result = __real_rename(from, to);
  if (moment().ends_writing(from, "in place")) std::raise(SIGKILL);
  return result;
}
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    train(argv[1], argv[2]);
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/run_state_writer.h"

#include <signal.h>

#include <filesystem>
#include <system_error>
#include <typeinfo>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/exception_text.h"
#include "framework/core/logging.h"

namespace cornu {

RunStateWriter::RunStateWriter(const std::shared_ptr<RunStateFolder>& folder) : folder_(folder) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    raise<ResourceExhausted>(
        "Run state: no thread can be started to write it: {}. Allow the process more threads or "
        "memory.",
        error.code().message());
  }
}

RunStateWriter::~RunStateWriter() { finish(); }

void RunStateWriter::finish() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RunStateWriter::write(RunState state) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(state);
  }
  changed_.notify_all();
}

std::string RunStateWriter::take_error() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = std::exchange(error_, nullptr);
  }
  return error ? text_of(error) : "";
}

bool RunStateWriter::has_written() {
  const std::lock_guard lock(mutex_);
  return has_written_;
}

void RunStateWriter::warn(const char* reason) const {
  try {
    std::error_code unknown;
    const bool has_older = std::filesystem::exists(folder_->path() + "/run_state", unknown);
    logging::warn(fmt::format("The state of the run can't be written{}: {}",
                              has_older ? ", the one before it stays" : "", reason));
  } catch (const std::exception&) {  // no memory for a warning: take_error() tells
  }
}

void RunStateWriter::work() {
  // A file that would become larger than the process's limit is an error like a full disk.
  sigset_t too_large;
  sigemptyset(&too_large);
  sigaddset(&too_large, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &too_large, nullptr);
  const std::type_info* warned_of = nullptr;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return waiting_ || ends_; });
    if (!waiting_) return;
    const RunState state = *std::move(waiting_);
    waiting_.reset();
    lock.unlock();
    std::exception_ptr failed;
    try {
      folder_->save(state);
      warned_of = nullptr;
    } catch (const std::exception& error) {
      failed = std::current_exception();
      // A full disk tends to stay full.
      if (!warned_of || *warned_of != typeid(error)) warn(error.what());
      warned_of = &typeid(error);
    }
    lock.lock();
    has_written_ = has_written_ || !failed;
    error_ = std::move(failed);
  }
}

}  // namespace cornu

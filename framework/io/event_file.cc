// SPDX-License-Identifier: Apache-2.0
#include "framework/io/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/proto_wire.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checked_path.h"
#include "framework/io/standard_files.h"
#include "framework/io/tf_record.h"

namespace cornu {

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

namespace {

// tensorflow.Event.
constexpr uint32_t kWallTime = 1;
constexpr uint32_t kStep = 2;
constexpr uint32_t kFileVersion = 3;
constexpr uint32_t kGraphDef = 4;
constexpr uint32_t kSummary = 5;
// tensorflow.Summary.
constexpr uint32_t kValue = 1;

double seconds_now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Creates a new file whose name sorts after those of the same second, since files are read in that
// order. Another process on this host may have had the same process ID in the same second.
std::pair<std::string, int> make_file(const std::string& folder) {
  static std::atomic<int64_t> made = 0;
  checked_path(folder);
  occupy_standard_files();
  const auto seconds = static_cast<int64_t>(seconds_now());
  while (true) {
    std::string path = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{:06}.v2", folder, seconds,
                                   host_name(), getpid(), made++);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0) return {std::move(path), file};
    if (errno != EEXIST) raise_file_error(path, "be written", errno);
  }
}

}  // namespace

EventFile::EventFile(const std::string& folder) : EventFile(make_file(folder)) {
  add(0, kFileVersion, "brain.Event:2");
  try {
    flush();
  } catch (...) {
    unlink(path_.c_str());
    throw;
  }
}

void EventFile::add_value(int64_t step, std::string_view value) {
  std::string summary;
  wire::put_bytes(summary, kValue, value);
  add(step, kSummary, summary);
}

void EventFile::add_graph(std::string_view graph) { add(0, kGraphDef, graph); }

void EventFile::add(int64_t step, uint32_t field, std::string_view content) {
  std::string event;
  wire::put_double(event, kWallTime, seconds_now());
  if (step != 0) wire::put_int(event, kStep, step);
  wire::put_bytes(event, field, content);
  pending_ += tf_record_header(event.size());
  pending_ += event;
  pending_ += tf_record_footer(event);
}

void EventFile::flush() {
  const std::string records = std::exchange(pending_, {});
  check<FailedPrecondition>(!torn_, "'{}' can't be written: it ends with a part of a record.",
                            path_);
  if (!write_all(file_.get(), std::as_bytes(std::span(records)))) {
    const int error = errno;
    // Readers can't continue after an incomplete record.
    torn_ = ftruncate(file_.get(), written_) != 0;
    raise_file_error(path_, "be written", error);
  }
  written_ += static_cast<int64_t>(records.size());
}

}  // namespace cornu

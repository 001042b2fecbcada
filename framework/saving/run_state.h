// SPDX-License-Identifier: Apache-2.0
// The state of a whole training run in a single file, from which a run can be resumed.
//
// The format is specific to Cornu and designed to be written often and accepted only if intact: a
// header (magic, version, byte order, file size), JSON, the tensors' bytes, each aligned to 64
// bytes, and a CRC-32C of everything before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"
#include "framework/io/file_lock.h"

namespace cornu {

struct RunState {
  Json info = Json::object();                                // everything small
  std::vector<std::pair<std::string, Tensor>> tensors = {};  // names are unique
  std::string folder = {};  // directory it was loaded from; not written

  // Throws NotFound, with the name, when there is no such tensor.
  const Tensor& tensor(std::string_view name) const;
};

// How far a run had progressed: its epoch, and the batch in it (after the epoch, the largest
// number). Of two states of a run, the further one is the newer.
std::pair<int64_t, int64_t> place_in_run(const RunState& state);

// Writes a state atomically (for errors see also atomic_file.h). Throws InvalidArgument for two
// tensors of the same name.
void write_run_state(const std::string& path, const RunState& state);

// Returns the same bytes in memory, for another process.
std::string encode_run_state(const RunState& state);
// Throws the errors of read_run_state.
RunState decode_run_state(std::string_view bytes, std::string_view what = "run state");

// Throws NotFound when the file doesn't exist, and DataLoss, with the reason, if it isn't a run
// state, is damaged or truncated, or was written by another version or on a machine with a
// different byte order. Allocates no more memory than the file's size. `what` is how errors
// describe the file.
RunState read_run_state(const std::string& path, std::string_view what = "run state");

// A directory with the current and the previous run state. Used by one process at a time.
class RunStateFolder {
 public:
  // Creates the directory. Throws FailedPrecondition when `path` isn't a directory, isn't writable,
  // or is in use by another live run.
  explicit RunStateFolder(const std::string& path);
  ~RunStateFolder();
  RunStateFolder(const RunStateFolder&) = delete;
  RunStateFolder& operator=(const RunStateFolder&) = delete;

  // Returns the newest intact state: if the last one is damaged, the previous one, with a warning;
  // nullopt if there is no state. Throws DataLoss if all are damaged: a run that started over there
  // would overwrite data that might be recoverable.
  std::optional<RunState> load() const;
  // Replaces the state; the last one becomes the previous one. Whenever this is interrupted, load()
  // finds one of them.
  void save(const RunState& state);
  // Removes all states; the directory, if empty, is removed when this object is destroyed.
  void clear();

  // Returns the newest intact state in a directory that another process may be using; nullopt if
  // there is none.
  static std::optional<RunState> peek(const std::string& path);
  // Like clear(), for a directory that no run is using.
  static void clear_unused(const std::string& path);

  const std::string& path() const { return path_; }

 private:
  std::string file() const;
  std::string previous() const;

  std::string path_;
  std::unique_ptr<FileLock> lock_;
  bool cleared_ = false;
};

}  // namespace cornu

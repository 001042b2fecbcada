// SPDX-License-Identifier: Apache-2.0
// The state of a whole training run, as one file: what a resumed run starts from.
//
// The format is Cornu's own, made to be written often and to be believed only when whole: a header
// (magic, version, byte order, size of the file), JSON, the tensors' bytes, each from a multiple of
// 64 on, and a CRC-32C of everything before it.
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
  Json info = Json::object();                                // everything that isn't large
  std::vector<std::pair<std::string, Tensor>> tensors = {};  // names differ
  std::string folder = {};  // that it was loaded from; isn't written

  // NotFound, naming it, when there is none of that name.
  const Tensor& tensor(std::string_view name) const;
};

// How far the run of a state was: its epoch, and the batch in it (after the epoch: the largest
// number). Of two states of a run, the one that is further is the newer one.
std::pair<int64_t, int64_t> place_in_run(const RunState& state);

// Writes one, atomically (see atomic_file.h, also for the errors). InvalidArgument for two tensors
// of one name.
void write_run_state(const std::string& path, const RunState& state);

// The same bytes in memory, for another process.
std::string encode_run_state(const RunState& state);
// Errors as read_run_state.
RunState decode_run_state(std::string_view bytes, std::string_view what = "run state");

// NotFound when there is no such file. DataLoss, saying what is wrong, for a file that is none, is
// damaged or cut off, or was written by another version or on a machine of another byte order.
// Allocates no more than the file holds. Errors call the file what it is to the caller.
RunState read_run_state(const std::string& path, std::string_view what = "run state");

// A folder's run state, and the one before it. One process has it at a time.
class RunStateFolder {
 public:
  // Makes the folder. FailedPrecondition when `path` is no folder, can't be written, or another run
  // that is alive uses it.
  explicit RunStateFolder(const std::string& path);
  ~RunStateFolder();
  RunStateFolder(const RunStateFolder&) = delete;
  RunStateFolder& operator=(const RunStateFolder&) = delete;

  // The newest state that is whole: where the last one is damaged, a warning says so and the one
  // before it comes. None where there is no state. DataLoss when none is whole: a run that begins
  // anew there would overwrite what might be saved.
  std::optional<RunState> load() const;
  // Replaces the state; the last one becomes the one before it. Whatever happens meanwhile, load()
  // finds one of them.
  void save(const RunState& state);
  // Removes all states; an empty folder goes with this object.
  void clear();

  // The newest state that is whole in a folder that another process may have; none without one.
  static std::optional<RunState> peek(const std::string& path);
  // As clear(), of a folder that no run uses.
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

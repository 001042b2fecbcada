// SPDX-License-Identifier: Apache-2.0
// The file "checkpoint" of a directory: which checkpoints it has, by tf.train's field names, as
// JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cornu {

struct CheckpointState {
  struct Entry {
    std::string name;      // of the file in the directory
    double timestamp = 0;  // seconds since 1970
  };
  std::vector<Entry> checkpoints = {};  // the newest last
  double last_preserved_timestamp = 0;
};

// None where there are no checkpoints. Where there are some, but no such file that can be read, a
// warning says so, and all files of the directory that are named <name>-<number> are meant ("": of
// any name), by their numbers.
std::optional<CheckpointState> read_checkpoint_state(const std::string& directory,
                                                     const std::string& name = "");
// For timestamps.
double seconds_since_1970();
void write_checkpoint_state(const std::string& directory, const CheckpointState& state);

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// The file "checkpoint" of a directory, which lists the checkpoints in it: JSON with the field
// names of tf.train.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cornu {

struct CheckpointState {
  struct Entry {
    std::string name;      // file name within the directory
    double timestamp = 0;  // seconds since 1970
  };
  std::vector<Entry> checkpoints = {};  // newest last
  double last_preserved_timestamp = 0;
};

// Returns nullopt when there are no checkpoints. If there are some but the file can't be read,
// warns and returns all files of the directory named <name>-<number> ("": any name), ordered by
// number.
std::optional<CheckpointState> read_checkpoint_state(const std::string& directory,
                                                     const std::string& name = "");
// The current time, for timestamps.
double seconds_since_1970();
void write_checkpoint_state(const std::string& directory, const CheckpointState& state);

}  // namespace cornu

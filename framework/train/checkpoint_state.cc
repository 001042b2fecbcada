// SPDX-License-Identifier: Apache-2.0
#include "framework/train/checkpoint_state.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/core/logging.h"
#include "framework/io/atomic_file.h"

namespace cornu {
namespace {

constexpr size_t kMaxStateBytes = size_t{16} << 20;
constexpr size_t kMaxDigits = 18;

std::string state_file(const std::string& directory) { return directory + "/checkpoint"; }

// Returns the number after the last '-' of a file's name.
std::optional<int64_t> number_of(const std::string& file, const std::string& name) {
  const size_t dash = file.rfind('-');
  if (dash == std::string::npos || dash == 0 || file[0] == '.') return std::nullopt;
  if (!name.empty() && file.substr(0, dash) != name) return std::nullopt;
  const std::string digits = file.substr(dash + 1);
  const bool is_number = !digits.empty() && digits.size() <= kMaxDigits &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::optional(std::stoll(digits)) : std::nullopt;
}

CheckpointState found_in(const std::string& directory, const std::string& name) {
  std::vector<std::pair<int64_t, CheckpointState::Entry>> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    const std::optional<int64_t> number = number_of(file, name);
    struct stat status {};
    if (!number || stat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    found.push_back({*number, {file, static_cast<double>(status.st_mtime)}});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  CheckpointState state;
  for (auto& [number, entry] : found) state.checkpoints.push_back(std::move(entry));
  return state;
}

CheckpointState parsed(const std::string& text) {
  const Json json = Json::parse(text);
  const Json::Array& names = json.at("all_model_checkpoint_paths").as_array();
  const Json::Array& times = json.at("all_model_checkpoint_timestamps").as_array();
  check<DataLoss>(names.size() == times.size() && !names.empty() &&
                      names.back() == json.at("model_checkpoint_path"),
                  "its parts don't fit together.");
  CheckpointState state;
  for (size_t i = 0; i < names.size(); ++i) {
    state.checkpoints.push_back({names[i].as_string(), times[i].as_double()});
  }
  state.last_preserved_timestamp = json.at("last_preserved_timestamp").as_double();
  return state;
}

}  // namespace

std::optional<CheckpointState> read_checkpoint_state(const std::string& directory,
                                                     const std::string& name) {
  std::string problem;
  try {
    const std::vector<std::byte> bytes = read_file(state_file(directory), kMaxStateBytes);
    return parsed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const FailedPrecondition&) {  // the file exists but can't be read
    throw;
  } catch (const Error& error) {
    problem = error.what();
  }
  CheckpointState state = found_in(directory, name);
  if (state.checkpoints.empty()) return std::nullopt;
  logging::warn(fmt::format(
      "The list of checkpoints '{}' can't be used: {} The newest of the {} "
      "files there is taken to be '{}'.",
      state_file(directory), problem, state.checkpoints.size(), state.checkpoints.back().name));
  return state;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void write_checkpoint_state(const std::string& directory, const CheckpointState& state) {
  Json::Array names;
  Json::Array times;
  for (const auto& [name, timestamp] : state.checkpoints) {
    names.emplace_back(name);
    times.emplace_back(timestamp);
  }
  const Json newest = names.back();
  const Json json = Json::object({{"model_checkpoint_path", newest},
                                  {"all_model_checkpoint_paths", std::move(names)},
                                  {"all_model_checkpoint_timestamps", std::move(times)},
                                  {"last_preserved_timestamp", state.last_preserved_timestamp}});
  write_file_atomically(state_file(directory), json.dump(2) + "\n");
}

}  // namespace cornu

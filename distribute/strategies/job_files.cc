// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/job_files.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "framework/core/error.h"
#include "framework/saving/run_state.h"
#include "framework/strategy/job_end.h"

namespace cornu::distribute {
namespace {

constexpr const char* kEndedFile = "CORNU_ENDED_FILE";

}  // namespace

void tell_that_job_begins() {
  const char* path = std::getenv("CORNU_BEGUN_FILE");
  if (path) std::ofstream(path, std::ios::app) << "\n";
}

void tell_that_job_is_over(const Json& obsolete) {
  const char* path = std::getenv(kEndedFile);
  if (path) std::ofstream(path, std::ios::app) << obsolete.dump() + "\n";
}

bool job_is_over() {
  const char* path = std::getenv(kEndedFile);
  std::error_code none;
  return path && std::filesystem::file_size(path, none) > 0 && !none;
}

void remove_obsolete_states() {
  const char* path = std::getenv(kEndedFile);
  std::ifstream file(path ? path : "");
  for (std::string line; std::getline(file, line);) {
    try {
      const ObsoleteStates obsolete = JobEnd::from_json(Json::parse(line));
      std::error_code gone;
      for (const std::string& folder : obsolete.states) {
        if (std::filesystem::is_directory(folder, gone)) RunStateFolder::clear_unused(folder);
      }
      for (const std::string& folder : obsolete.folders) rmdir(folder.c_str());  // no link
    } catch (const Error&) {  // the launcher may have written something else
    }
  }
}

void take_back_end() {
  if (job_is_over()) std::ofstream(std::getenv(kEndedFile), std::ios::trunc);
}

}  // namespace cornu::distribute

// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>

#include "framework/core/logging.h"

namespace cornu::passes {
namespace {

// The number of compilations with this name so far, including this one.
int count_of(const std::string& name) {
  static std::mutex mutex;
  static auto* counts = new std::map<std::string, int>;
  const std::lock_guard lock(mutex);
  return ++(*counts)[name];
}

}  // namespace

Dump::Dump(const std::string& name) {
  const char* folder = std::getenv("CORNU_DUMP_GRAPH");
  if (!folder || !*folder) return;
  std::error_code ignored;  // errors from the files are sufficient
  std::filesystem::create_directories(folder, ignored);
  std::string file = name;
  std::ranges::replace(file, '/', '_');
  const int count = count_of(file);
  if (count > 1) file += fmt::format("-{}", count);
  prefix_ = std::filesystem::path(folder) / file;
}

void Dump::write(const std::string& stage, const Graph& graph) {
  if (is_wanted()) write_text(stage, graph.to_string() + '\n');
}

void Dump::write_text(const std::string& stage, const std::string& text) {
  if (!is_wanted()) return;
  const std::string path = fmt::format("{}.{}.{}.txt", prefix_, number_++, stage);
  std::ofstream file(path);
  file << text << std::flush;
  static std::atomic<bool> told = false;
  if (file || told.exchange(true)) return;
  logging::warn(fmt::format(
      "CORNU_DUMP_GRAPH: '{}' can't be written. Name a directory that can be written to.", path));
}

}  // namespace cornu::passes

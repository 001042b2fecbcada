// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/index/update_runs.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kDigitBits = 8;      // per sort pass: sort_key.cu
constexpr int64_t kSortedKeys = 1024;  // per block
constexpr int64_t kSortThreads = 64;
constexpr uint32_t kRunsBlock = 256;  // threads
constexpr int64_t kShortRun = 64;     // minimum number of updates that one thread adds up
constexpr int64_t kMaxPlaces = 2048;  // candidate positions of long runs
constexpr int64_t kSectorBytes = 32;

}  // namespace

UpdateRuns::UpdateRuns(const IndexedUpdates& updates, Lowering& to) : updates_(updates), to_(to) {
  const bool is_large = updates_.most_elements >= std::numeric_limits<uint32_t>::max();
  key_ = is_large ? "u64" : "u32";
  const auto bytes = static_cast<size_t>(updates_.indices) * (is_large ? 8 : 4);
  for (Slot& buffer : keys_) buffer = to_.scratch(bytes);
  for (Slot& buffer : order_) buffer = to_.scratch(bytes);
  const int64_t blocks = (updates_.indices + kSortedKeys - 1) / kSortedKeys;
  counts_ = to_.scratch((size_t{1} << kDigitBits) * static_cast<size_t>(blocks) * 8);
  totals_ = to_.scratch((size_t{1} << kDigitBits) * 8);
  const int64_t bits = std::bit_width(static_cast<uint64_t>(updates_.size - 1));
  sorted_ = 1;
  for (int64_t shift = 0; shift == 0 || shift < bits; shift += kDigitBits) {
    sorted_ = 1 - sorted_;
    add_pass(shift, sorted_, blocks);
  }
}

// Sorts from buffers 1 - `into`, or from the indices, to buffers `into`.
void UpdateRuns::add_pass(int64_t shift, size_t into, int64_t blocks) {
  const bool is_first = shift == 0;
  const std::string text = define("K", key_) +
                           define("N", is_first ? type_name(updates_.index) : key_) +
                           define("FIRST", is_first ? "1" : "0");
  const auto launch = [&](const std::string& name, int64_t threads,
                          std::vector<Argument> arguments) {
    for (const Argument& more :
         std::vector<Argument>{updates_.indices, shift, updates_.axis, updates_.block,
                               updates_.columns, status(), updates_.code}) {
      arguments.push_back(more);
    }
    to_.launch_text(name,
                    text + std::string(source("kernels/index/place.cu")) +
                        std::string(source("kernels/index/sort_key.cu")) +
                        std::string(source(fmt::format("kernels/index/{}.cu", name))),
                    {static_cast<uint32_t>(blocks)}, {static_cast<uint32_t>(threads)},
                    std::move(arguments));
  };
  const Slot from = is_first ? in(0) : keys_[1 - into];
  launch("sort_count", 256, {from, counts_});
  constexpr uint32_t kDigitsOfBlock = 8;
  to_.launch("sort_scan", "kernels/index/sort_scan.cu", define("K", key_),
             {(1u << kDigitBits) / kDigitsOfBlock}, {32 * kDigitsOfBlock},
             {counts_, totals_, blocks});
  launch("sort_place", kSortThreads,
         {from, order_[1 - into], counts_, totals_, keys_[into], order_[into]});
}

void UpdateRuns::add(Slot y, Rows rows) const {
  const int64_t size = rows == Rows::OfRuns ? updates_.indices : updates_.size;
  const int64_t longest = std::max(kShortRun, updates_.indices / kMaxPlaces);
  const int64_t lanes = lanes_for(size_of(updates_.dtype), {updates_.inner});
  const int64_t count = updates_.outer * updates_.indices * (updates_.inner / lanes);
  KernelSizes sizes(to_);
  sizes.add("count", count);
  sizes.add("length", updates_.indices);
  sizes.add("size", size);
  sizes.add("inner", updates_.inner / lanes);
  sizes.add("longest", longest);
  const std::string types = define("K", key_) + define("C", compute_name(updates_.dtype)) +
                            define("BY_RUN", rows == Rows::OfRuns ? "true" : "false");
  to_.launch("add_runs", "kernels/index/short_runs.cu",
             types + define_index(updates_.most_elements) +
                 define_vector(type_name(updates_.dtype), lanes) + sizes.definitions(),
             blocks_for(count, kRunsBlock), {kRunsBlock},
             sizes.arguments({keys(), order_[sorted_], in(1), y}));
  if (updates_.indices <= longest) return;
  const int64_t sector = kSectorBytes / static_cast<int64_t>(size_of(updates_.dtype));
  const auto across = std::min<int64_t>(
      sector, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(updates_.inner))));
  const int64_t column_tiles = (updates_.inner + across - 1) / across;
  const int64_t places = (updates_.indices + longest - 1) / longest;
  to_.launch("add_long_runs", "kernels/index/long_runs.cu",
             types + define("T", type_name(updates_.dtype)),
             blocks_for(updates_.outer * column_tiles * places, 1), {kRunsBlock},
             {keys(), order_[sorted_], in(1), y, updates_.indices, size, updates_.inner, longest,
              int64_t{std::countr_zero(static_cast<uint64_t>(across))}, column_tiles, places});
}

}  // namespace cornu::cuda

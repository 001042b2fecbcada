// SPDX-License-Identifier: Apache-2.0
// Adding by index, in the order of the updates, whatever their number: README.md.
#include <algorithm>
#include <bit>
#include <limits>

#include "framework/backends/cuda/kernels/index/place.h"
#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kScatterBlock = 256;                // threads
constexpr int64_t kFewIndices = 1024;                 // that each element looks at
constexpr int64_t kFewLooks = int64_t{1} << 26;       // in all
constexpr int64_t kShortWalk = 64;                    // updates that one thread adds to memory
constexpr int64_t kEnoughWalkers = int64_t{1} << 14;  // threads that are as fast as a sort
constexpr int64_t kDigitBits = 8;                     // of the sort: sort_key.cu
constexpr int64_t kSortedKeys = 1024;                 // of a block
constexpr int64_t kSortThreads = 64;
constexpr int64_t kShortRun = 64;      // updates that one thread adds up; at least
constexpr int64_t kMostPlaces = 2048;  // of which long runs are found
constexpr int64_t kSectorBytes = 32;

// y[o, index, c] += updates[o, i, c] for all i < length.
class ScatterAdd {
 public:
  // `along`: each update has an index of its own.
  ScatterAdd(const KernelSpec& spec, bool along, Lowering& to)
      : spec_(spec),
        to_(to),
        along_(along),
        dtype_(spec.outputs[0].dtype),
        index_(spec.inputs[0].dtype),
        y_(spec.outputs[0].shape, spec.attributes.get_int("axis")),
        indices_(spec.inputs[0].shape.num_elements()),
        length_(along ? spec.inputs[0].shape[spec.attributes.get_int("axis")] : indices_),
        code_(add_index_check(spec, index_, spec.outputs[0].shape, spec.attributes.get_int("axis"),
                              to)) {}

  void add() {
    const int64_t elements = spec_.outputs[0].shape.num_elements();
    const int64_t threads = y_.outer * y_.inner;
    if (indices_ == 0) {
      to_.fill(out(0), 0, spec_.outputs[0].bytes());
    } else if (elements == 0) {
      add_index_check_alone(spec_, 0, y_.size, code_, to_);
    } else if (length_ <= kFewIndices && elements <= kFewLooks / length_) {
      launch_threads("few", elements, out(0));
    } else if (length_ <= kShortWalk || (along_ && threads >= kEnoughWalkers)) {
      add_walks(threads);
    } else {
      add_sorted();
    }
  }

 private:
  bool is_narrow() const { return size_of(dtype_) == 2; }
  std::string types() const {
    return define("T", type_name(dtype_)) + define("C", compute_name(dtype_)) +
           define("N", type_name(index_)) + define("ALONG", along_ ? "true" : "false");
  }
  int64_t most_elements() const {
    return std::max(spec_.inputs[1].shape.num_elements(), spec_.outputs[0].shape.num_elements());
  }

  void launch_threads(std::string_view file, int64_t count, Slot into) {
    KernelSizes sizes(to_);
    sizes.add("count", count);
    sizes.add("length", length_);
    sizes.add("size", y_.size);
    sizes.add("inner", y_.inner);
    launch_indexed(to_, spec_.op.name, fmt::format("kernels/index/{}.cu", file),
                   types() + define_index(most_elements()) + sizes.definitions(),
                   blocks_for(count, kScatterBlock), {kScatterBlock},
                   sizes.arguments({in(0), in(1), into, status(), code_}));
  }

  void add_walks(int64_t threads) {
    const int64_t count = spec_.outputs[0].shape.num_elements();
    const size_t bytes = static_cast<size_t>(count) * (is_narrow() ? 4 : size_of(dtype_));
    const Slot sums = is_narrow() ? to_.scratch(bytes) : out(0);
    to_.fill(sums, 0, bytes);
    launch_threads("walk", threads, sums);
    if (!is_narrow()) return;
    to_.launch("narrow", "kernels/index/narrow.cu", define("T", type_name(dtype_)),
               blocks_for(count, kScatterBlock), {kScatterBlock}, {sums, out(0), count});
  }

  // Sorts the numbers of the updates by where they are added, stably: those that belong together
  // lie together then, in their order.
  void add_sorted() {
    const bool is_large = most_elements() >= std::numeric_limits<uint32_t>::max();
    key_ = is_large ? "u64" : "u32";
    const int64_t places = along_ ? spec_.outputs[0].shape.num_elements() : y_.size;
    const auto bytes = static_cast<size_t>(indices_) * (is_large ? 8 : 4);
    for (Slot& buffer : keys_) buffer = to_.scratch(bytes);
    for (Slot& buffer : order_) buffer = to_.scratch(bytes);
    const int64_t blocks = (indices_ + kSortedKeys - 1) / kSortedKeys;
    counts_ = to_.scratch((size_t{1} << kDigitBits) * static_cast<size_t>(blocks) * 8);
    totals_ = to_.scratch((size_t{1} << kDigitBits) * 8);
    const int64_t bits = std::bit_width(static_cast<uint64_t>(places - 1));
    size_t sorted = 0;
    for (int64_t shift = 0; shift == 0 || shift < bits; shift += kDigitBits) {
      add_pass(shift, sorted, blocks);
      sorted = 1 - sorted;
    }
    to_.fill(out(0), 0, spec_.outputs[0].bytes());
    add_runs(keys_[1 - sorted], order_[1 - sorted]);
  }

  // From buffers 1 - `into`, or from the indices, to buffers `into`.
  void add_pass(int64_t shift, size_t into, int64_t blocks) {
    const bool is_first = shift == 0;
    const std::string text = define("K", key_) + define("N", is_first ? type_name(index_) : key_) +
                             define("FIRST", is_first ? "1" : "0");
    const auto launch = [&](const std::string& name, int64_t threads,
                            std::vector<Argument> arguments) {
      const int64_t block = along_ ? length_ * y_.inner : indices_;
      for (const Argument& more : std::vector<Argument>{indices_, shift, y_.size, block,
                                                        along_ ? y_.inner : 1, status(), code_}) {
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

  // Adds up the updates of each key. Sorted by element, all is one axis.
  void add_runs(Slot keys, Slot order) {
    const int64_t outer = along_ ? 1 : y_.outer;
    const int64_t inner = along_ ? 1 : y_.inner;
    const int64_t size = along_ ? spec_.outputs[0].shape.num_elements() : y_.size;
    const int64_t longest = std::max(kShortRun, indices_ / kMostPlaces);
    const int64_t lanes = lanes_for(size_of(dtype_), {inner});
    const int64_t count = outer * indices_ * (inner / lanes);
    KernelSizes sizes(to_);
    sizes.add("count", count);
    sizes.add("length", indices_);
    sizes.add("size", size);
    sizes.add("inner", inner / lanes);
    sizes.add("longest", longest);
    const std::string types = define("K", key_) + define("C", compute_name(dtype_));
    to_.launch("add_runs", "kernels/index/short_runs.cu",
               types + define_index(most_elements()) + define_vector(type_name(dtype_), lanes) +
                   sizes.definitions(),
               blocks_for(count, kScatterBlock), {kScatterBlock},
               sizes.arguments({keys, order, in(1), out(0)}));
    if (indices_ <= longest) return;
    const int64_t sector = kSectorBytes / static_cast<int64_t>(size_of(dtype_));
    const auto across = std::min<int64_t>(
        sector, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(inner))));
    const int64_t column_tiles = (inner + across - 1) / across;
    const int64_t places = (indices_ + longest - 1) / longest;
    to_.launch("add_long_runs", "kernels/index/long_runs.cu",
               types + define("T", type_name(dtype_)), blocks_for(outer * column_tiles * places, 1),
               {kScatterBlock},
               {keys, order, in(1), out(0), indices_, size, inner, longest,
                int64_t{std::countr_zero(static_cast<uint64_t>(across))}, column_tiles, places});
  }

  const KernelSpec& spec_;
  Lowering& to_;
  bool along_;
  DType dtype_;
  DType index_;
  IndexedAxis y_;
  int64_t indices_;
  int64_t length_;  // updates for each o and c
  int64_t code_;
  std::string key_;
  Slot keys_[2];
  Slot order_[2];
  Slot counts_;
  Slot totals_;
};

bool lower_scatter(const KernelSpec& spec, bool along, Lowering& lowering) {
  if (spec.outputs[0].dtype == DType::Bool) return false;
  ScatterAdd(spec, along, lowering).add();
  return true;
}

}  // namespace

bool lower_scatter_add(const KernelSpec& spec, Lowering& lowering) {
  return lower_scatter(spec, false, lowering);
}
bool lower_put_along_axis_add(const KernelSpec& spec, Lowering& lowering) {
  return lower_scatter(spec, true, lowering);
}

}  // namespace cornu::cuda

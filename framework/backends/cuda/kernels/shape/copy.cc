// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/shape/copy.h"

#include <algorithm>
#include <bit>

#include "framework/backends/cuda/kernels/shape/text.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kCopyBlock = 256;      // threads
constexpr int64_t kCopiesEach = 4;       // per thread: copy.cu
constexpr int64_t kTileElements = 1024;  // tiles.cu
constexpr int64_t kTileSide = 32;        // if both axes are long
constexpr int64_t kMinTransposed = 256;  // minimum number of elements for a tile
constexpr int64_t kMaxTiles =
    0x7fffffff;  // maximum number of blocks; beyond it, blocks take several tiles

// The copy after merging axes and joining elements into vectors.
class StridedCopy {
 public:
  StridedCopy(const KernelSpec& spec, const std::vector<CopyAxis>& axes, int64_t from)
      : name_(spec.op.name), dtype_(spec.outputs[0].dtype), from_(from) {
    most_ = std::max(spec.inputs[0].shape.num_elements(), spec.outputs[0].shape.num_elements());
    merge(axes);
  }

  bool is_contiguous() const { return axes_.empty() || (axes_.size() == 1 && axes_[0].from == 1); }
  int64_t from() const { return from_; }

  void add_kernel(Lowering& lowering) {
    join();
    const auto across = std::ranges::find(axes_, 1, &CopyAxis::from);
    const CopyAxis inner = axes_.empty() ? CopyAxis() : axes_.back();
    if (!splats_ && inner.from != 0 && inner.from != 1 && across != axes_.end() &&
        inner.size * across->size >= kMinTransposed) {
      add_tiles(static_cast<size_t>(across - axes_.begin()), lowering);
    } else {
      add_elements(lowering);
    }
  }

 private:
  // Merges adjacent axes that are evenly spaced.
  void merge(const std::vector<CopyAxis>& axes) {
    for (const CopyAxis& axis : axes) {
      if (axis.size == 1) continue;
      if (!axes_.empty() && axes_.back().from == axis.from * axis.size) {
        axes_.back() = {axes_.back().size * axis.size, axis.from};
      } else {
        axes_.push_back(axis);
      }
    }
  }

  // Moves several elements at once if they are contiguous on both sides, or a single one in the
  // source.
  void join() {
    CopyAxis& inner = axes_.back();
    if (inner.from != 0 && inner.from != 1) return;
    splats_ = inner.from == 0;
    std::vector<int64_t> sizes = {inner.size};
    if (!splats_) {
      sizes.push_back(from_);
      for (size_t i = 0; i + 1 < axes_.size(); ++i) sizes.push_back(axes_[i].from);
    }
    lanes_ = lanes_for(size_of(dtype_), sizes);
    splats_ = splats_ && lanes_ > 1;
    inner.size /= lanes_;
    if (!splats_) {
      from_ /= lanes_;
      for (size_t i = 0; i + 1 < axes_.size(); ++i) axes_[i].from /= lanes_;
    }
    if (inner.size == 1) axes_.pop_back();
  }

  // LOCATE: adds the offset for the index `rest` along the axes to `from` and, with `into`, to
  // `to`.
  std::string locate(const std::vector<CopyAxis>& axes, const std::vector<int64_t>& to,
                     KernelSizes& sizes) const {
    std::string text = "{ I at; (void)at; ";
    for (size_t i = axes.size(); i-- > 0;) {
      sizes.add(fmt::format("from{}", i), axes[i].from);
      if (i > 0) {
        sizes.add(fmt::format("size{}", i), axes[i].size);
        text += fmt::format("at = rest % (I)size{0}; rest /= (I)size{0}; ", i);
      } else {
        text += "at = rest; ";
      }
      text += fmt::format("from += at * (I)from{}; ", i);
      if (to.empty()) continue;
      sizes.add(fmt::format("to{}", i), to[i]);
      text += fmt::format("to += at * (I)to{}; ", i);
    }
    return define("LOCATE", text + "}");
  }

  std::string element_definitions() const {
    return define_index(most_) + define_vector(moved_name(dtype_), lanes_) +
           define("SPLAT", splats_ ? "1" : "0");
  }

  int64_t count() const {
    int64_t count = 1;
    for (const CopyAxis& axis : axes_) count *= axis.size;
    return count;
  }

  void add_elements(Lowering& lowering) const {
    KernelSizes sizes(lowering);
    sizes.add("count", count());
    sizes.add("offset", from_);
    const std::string text = element_definitions() + locate(axes_, {}, sizes);
    lowering.launch(name_, "kernels/shape/copy.cu", text + sizes.definitions(),
                    blocks_for(count(), kCopyBlock * kCopiesEach), {kCopyBlock},
                    sizes.arguments({in(0), out(0)}));
  }

  // Axis `index` is contiguous in the input, and the last one in the output.
  void add_tiles(size_t index, Lowering& lowering) const {
    std::vector<CopyAxis> outer = axes_;
    std::vector<int64_t> to(axes_.size(), 1);
    for (size_t i = axes_.size() - 1; i-- > 0;) to[i] = to[i + 1] * axes_[i + 1].size;
    const CopyAxis across = axes_[index];
    const CopyAxis inner = axes_.back();
    const int64_t across_to = to[index];
    for (const size_t gone : {axes_.size() - 1, index}) {
      outer.erase(outer.begin() + static_cast<int64_t>(gone));
      to.erase(to.begin() + static_cast<int64_t>(gone));
    }
    const auto power = [](int64_t size) {
      return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
    };
    int64_t wide = std::min(kTileSide, power(across.size));
    const int64_t high = std::min(kTileElements / wide, power(inner.size));
    wide = std::min(kTileElements / high, power(across.size));
    const int64_t across_tiles = (across.size + wide - 1) / wide;
    const int64_t inner_tiles = (inner.size + high - 1) / high;
    const int64_t tiles = count() / across.size / inner.size * across_tiles * inner_tiles;
    const auto bits = [](int64_t size) { return std::countr_zero(static_cast<uint64_t>(size)); };
    KernelSizes sizes(lowering);
    sizes.add("offset", from_);
    sizes.add("tiles", tiles);
    sizes.add("across_tiles", across_tiles);
    sizes.add("inner_tiles", inner_tiles);
    sizes.add("across_bits", bits(wide));
    sizes.add("inner_bits", bits(high));
    sizes.add("across", across.size);
    sizes.add("inner", inner.size);
    sizes.add("inner_from", inner.from);
    sizes.add("across_to", across_to);
    const std::string text = element_definitions() + locate(outer, to, sizes);
    lowering.launch(name_, "kernels/shape/tiles.cu", text + sizes.definitions(),
                    blocks_for(std::min(tiles, kMaxTiles), 1), {kCopyBlock},
                    sizes.arguments({in(0), out(0)}));
  }

  std::string name_;
  DType dtype_;
  int64_t from_;
  int64_t most_;  // elements on either side
  int64_t lanes_ = 1;
  bool splats_ = false;  // one element fills a vector
  std::vector<CopyAxis> axes_;
};

}  // namespace

void add_plain_copy(const KernelSpec& spec, Lowering& lowering) {
  lowering.may_alias(0, 0);
  lowering.copy(out(0), in(0), spec.outputs[0].bytes());
}

void add_strided_copy(const KernelSpec& spec, std::vector<CopyAxis> axes, int64_t from,
                      Lowering& lowering) {
  if (spec.outputs[0].shape.num_elements() == 0) return;
  StridedCopy copy(spec, axes, from);
  if (!copy.is_contiguous()) {
    copy.add_kernel(lowering);
  } else if (spec.inputs[0].bytes() == spec.outputs[0].bytes()) {
    add_plain_copy(spec, lowering);
  } else {
    const size_t place = static_cast<size_t>(copy.from()) * size_of(spec.outputs[0].dtype);
    lowering.copy(out(0), in(0, place), spec.outputs[0].bytes());
  }
}

}  // namespace cornu::cuda

// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/image_tiles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

constexpr int64_t kValues = 256;
constexpr Bounds kBytes8 = {0, 255};

// An axis of images and its tiles, which may extend past the end.
struct TiledAxis {
  int64_t size;  // of images
  int64_t tiles;
  int64_t tile;  // pixels per tile

  TiledAxis(int64_t size, int64_t tiles)
      : size(size), tiles(tiles), tile((size + tiles - 1) / tiles) {}

  // The pixel at each position of the tiles: images are mirrored beyond their end.
  Tensor mirrored() const {
    std::vector<int32_t> places;
    for (int64_t i = 0; i < tiles * tile; ++i) {
      const int64_t place = i % (2 * size);
      places.push_back(static_cast<int32_t>(std::min(place, 2 * size - 1 - place)));
    }
    return Tensor::from(places);
  }
  // The tile of each position.
  Tensor tile_of() const { return ops::repeat(ops::arange(0, tiles, 1, DType::Int32), tile, 0); }

  // For each pixel, the tiles whose centers are before and after it, and the weight of the latter.
  struct Neighbours {
    Tensor before, after, weight;
  };
  Neighbours neighbours() const {
    std::vector<int32_t> before, after;
    std::vector<float> weight;
    for (int64_t i = 0; i < size; ++i) {
      const double place = static_cast<double>(i) / static_cast<double>(tile) - 0.5;
      const auto first = static_cast<int64_t>(std::floor(place));
      before.push_back(static_cast<int32_t>(std::clamp<int64_t>(first, 0, tiles - 1)));
      after.push_back(static_cast<int32_t>(std::clamp<int64_t>(first + 1, 0, tiles - 1)));
      weight.push_back(static_cast<float>(place - static_cast<double>(first)));
    }
    return {Tensor::from(before), Tensor::from(after), Tensor::from(weight)};
  }
};

// Reshapes numbers of one axis to broadcast over (batch, height, width, channels).
Tensor of_axis(const Tensor& numbers, int64_t axis) {
  Shape shape = {1, 1, 1, 1};
  shape[axis] = numbers.dim(0);
  return ops::reshape(numbers, shape);
}

// (tables, 256): maps each value according to the counts.
Tensor equalizing(const Tensor& counts, double pixels, double clip_limit) {
  Tensor bins = counts;
  if (clip_limit > 0) {
    const Tensor clipped = ops::minimum(counts, clip_limit * pixels / kValues);
    bins = clipped + ops::sum(counts - clipped, 1, true) / kValues;
  }
  const Tensor sums = ops::cumsum(bins, 1);
  const Tensor least = ops::min(sums, 1, true);
  const Tensor rest = pixels - least;
  const Tensor scaled = (sums - least) * 255 / ops::where(rest == 0, ops::ones_like(rest), rest);
  return ops::clip(scaled, 0, 255);
}

}  // namespace

Tensor equalize_tiles(const Tensor& images, std::pair<int64_t, int64_t> tiles, double clip_limit,
                      const Bounds& range) {
  const int64_t batch = images.dim(0), channels = images.dim(3);
  const TiledAxis down(images.dim(1), tiles.first), across(images.dim(2), tiles.second);
  const Tensor bytes = ops::cast(
      ops::clip(rescale(ops::cast(images, DType::Float32), range, kBytes8), 0, 255), DType::Int32);
  const Tensor picture = of_axis(ops::arange(0, batch, 1, DType::Int32), 0);
  const Tensor channel = of_axis(ops::arange(0, channels, 1, DType::Int32), 3);
  // The start of a tile's counts.
  const auto table = [&](const Tensor& row, const Tensor& column) {
    const Tensor tile =
        (picture * tiles.first + of_axis(row, 1)) * tiles.second + of_axis(column, 2);
    return (tile * channels + channel) * kValues;
  };

  const Tensor seen = ops::take(ops::take(bytes, down.mirrored(), 1), across.mirrored(), 2);
  const Tensor ids = ops::reshape(table(down.tile_of(), across.tile_of()) + seen, {-1});
  const int64_t tables = batch * tiles.first * tiles.second * channels;
  const Tensor counts = ops::segment_sum(ops::ones_like(ids), ids, tables * kValues);
  const Tensor equal =
      ops::reshape(equalizing(ops::reshape(ops::cast(counts, DType::Float32), {tables, kValues}),
                              static_cast<double>(down.tile * across.tile), clip_limit),
                   {-1});

  const auto rows = down.neighbours();
  const auto columns = across.neighbours();
  const auto values = [&](const Tensor& row) {
    const Tensor left = ops::take(equal, table(row, columns.before) + bytes);
    const Tensor right = ops::take(equal, table(row, columns.after) + bytes);
    return left + (right - left) * of_axis(columns.weight, 2);
  };
  const Tensor above = values(rows.before);
  const Tensor result = above + (values(rows.after) - above) * of_axis(rows.weight, 1);
  return ops::cast(rescale(result, kBytes8, range), images.dtype());
}

}  // namespace cornu::layers

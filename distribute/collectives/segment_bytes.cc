// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/segment_bytes.h"

#include <algorithm>

namespace cornu::distribute {

SegmentBytes::Piece SegmentBytes::piece(size_t at, size_t most) const {
  const auto i = static_cast<size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
  const size_t within = at - (i == 0 ? 0 : ends_[i - 1]);
  return {static_cast<const std::byte*>(segments_[i].in) + within,
          static_cast<std::byte*>(segments_[i].out) + within, std::min(most, ends_[i] - at)};
}

}  // namespace cornu::distribute

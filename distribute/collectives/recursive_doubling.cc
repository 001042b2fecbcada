// SPDX-License-Identifier: Apache-2.0
// All-reduce in log2(ranks) steps: in step k, ranks whose numbers differ in bit k exchange their
// partial sums. Ranks beyond the largest power of two first send theirs to a rank below it, and
// receive the result from there.
#include <array>
#include <bit>
#include <cstring>

#include "distribute/collectives/ring.h"
#include "distribute/collectives/ring_chunks.h"
#include "framework/strategy/reduce_elements.h"

namespace cornu::distribute {

// 16-bit numbers are summed in float32. The sum of the lower ranks is the first operand, so that
// all ranks get the same bits.
void RingCollectives::reduce_by_doubling(const CollectiveCall& what, const SegmentBytes& bytes,
                                         int64_t divisor) {
  const DType dtype = *what.dtype;
  const bool widens = is_half(dtype) && !options_.narrow_sums;
  const DType summed = widens ? DType::Float32 : dtype;
  const ReduceOp op = what.op == ReduceOp::Mean ? ReduceOp::Sum : what.op;
  const auto count = static_cast<size_t>(what.count());
  const int rank = transport_.rank();
  const int half = static_cast<int>(std::bit_floor(static_cast<unsigned>(transport_.size())));
  std::vector<std::byte>& given = doubled_.given;
  std::vector<std::byte>& sum = doubled_.sum;
  std::vector<std::byte>& theirs = doubled_.theirs;
  given.resize(bytes.total());
  bytes.copy_inputs(given.data());
  sum.resize(padded(count * size_of(summed)));
  theirs.resize(sum.size());
  if (widens) {
    widen(reinterpret_cast<float*>(sum.data()), given.data(), count, dtype);
  } else {
    std::memcpy(sum.data(), given.data(), bytes.total());
  }
  const auto add = [&](int from) {
    const std::array<const void*, 2> in = {from < rank ? theirs.data() : sum.data(),
                                           from < rank ? sum.data() : theirs.data()};
    reduce_elements(sum.data(), in, 0, what.count(), summed, op);
  };
  const int folded =
      rank < half ? rank + half : rank - half;  // the rank that this one is folded with
  if (rank >= half) {
    exchange(folded, sum, folded, {});
  } else if (folded < transport_.size()) {
    exchange(folded, {}, folded, theirs);
    add(folded);
  }
  for (int bit = 1; bit < half && rank < half; bit *= 2) {
    const int partner = rank ^ bit;
    exchange(partner, sum, partner, theirs);
    add(partner);
  }
  if (rank >= half) {
    exchange(folded, {}, folded, sum);
  } else if (folded < transport_.size()) {
    exchange(folded, sum, folded, {});
  }
  divide_elements(sum.data(), what.count(), summed, divisor);
  if (widens) narrow(given.data(), reinterpret_cast<const float*>(sum.data()), count, dtype);
  bytes.copy_to_outputs(widens ? given.data() : sum.data());
}

}  // namespace cornu::distribute

// SPDX-License-Identifier: Apache-2.0
// Where an iterator over batches stands, as it is saved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"

namespace cornu {

struct SourcePosition {
  std::string pipeline;  // what the items depend on, as text
  int64_t pass = 0;
  int64_t consumed = 0;         // items that next() gave in this pass
  std::vector<uint64_t> seeds;  // those that weren't given
  // The number of the source's next pass: several iterators may have begun some of it meanwhile.
  int64_t next_pass = 0;
  // Examples in a pass over what is batched; none where that isn't known, or never ends.
  std::optional<int64_t> examples = {};
  // Of an iterator: where that isn't known, counts those of a saved position's pass, up to `most`.
  std::function<int64_t(const SourcePosition& saved, int64_t most)> count_examples = {};
  bool rebatched = false;  // it was counted in batches of another size

  Json to_json() const;
  // `position` with a checksum, when all that belongs to it is there.
  static Json sealed(Json position);
  // The position in `json`, for an iterator that stands at `here`. Errors begin with `who`:
  // FailedPrecondition when it is another pipeline's, DataLoss when it can't be, or isn't
  // what the checksum was made of, if there is one: a damaged count may stand for years of passing
  // over elements.
  static SourcePosition read(const Json& json, const SourcePosition& here, const char* who);
  // The same, where the pipelines may differ in the size of their batches: `consumed` are those of
  // this size that as many examples make, rounded down. A warning says so.
  static SourcePosition read_examples(const Json& json, const SourcePosition& here,
                                      const char* who);
  // After items were passed over: FailedPrecondition unless all `consumed` were there.
  void check_reached(int64_t passed, const char* who) const;
};

}  // namespace cornu

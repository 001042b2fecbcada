// SPDX-License-Identifier: Apache-2.0
// The position of an iterator over batches, in its saved form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"

namespace cornu {

struct SourcePosition {
  std::string pipeline;  // text of what the items depend on
  int64_t pass = 0;
  int64_t consumed = 0;         // number of items that next() returned in this pass
  std::vector<uint64_t> seeds;  // those that were drawn because none were given
  // The number of the source's next pass: several iterators may have been started in the meantime.
  int64_t next_pass = 0;
  // Examples in a pass over the source that is batched; nullopt if unknown or infinite.
  std::optional<int64_t> examples = {};
  // For an iterator: counts the examples in the pass of a saved position, up to `most`, if
  // `examples` is unknown.
  std::function<int64_t(const SourcePosition& saved, int64_t most)> count_examples = {};
  bool rebatched = false;  // the position was counted in batches of another size

  Json to_json() const;
  // Adds a checksum to a complete `position`.
  static Json sealed(Json position);
  // Reads the position in `json` for an iterator at `here`. Errors begin with `who`. Throws
  // FailedPrecondition when it belongs to another pipeline, and DataLoss when it is invalid or
  // doesn't match its checksum, if there is one: with a damaged count, skipping elements could take
  // years.
  static SourcePosition read(const Json& json, const SourcePosition& here, const char* who);
  // Like read(), but the pipelines may differ in their batch size: converts `consumed` to batches
  // of the current size with the same number of examples, rounded down, and logs a warning.
  static SourcePosition read_examples(const Json& json, const SourcePosition& here,
                                      const char* who);
  // After skipping items: throws FailedPrecondition unless all `consumed` items existed.
  void check_reached(int64_t passed, const char* who) const;
};

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// Serialized datasets: everything that can be read is written, and reads back the same. Nothing is
// iterated, since a pipeline may name any file, and may never end.
#include "data/node.h"
#include "data/serialization.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  using cornu::data::SerializedDataset;
  return fuzz::attempt([&] {
    const std::string text(fuzz::text_of(data, size));
    const bool whole = text.starts_with("CORNUDS1");
    const auto dataset = cornu::data::deserialize(whole ? SerializedDataset::from_bytes(text)
                                                        : SerializedDataset{text, {}});
    static_cast<void>(dataset.cardinality());
    static_cast<void>(dataset.element_spec().to_string());
    static_cast<void>(cornu::data::describe_chain(*dataset.node()));
    const SerializedDataset again = serialize(dataset);
    const SerializedDataset third = serialize(cornu::data::deserialize(again));
    fuzz::require(third.pipeline == again.pipeline && third.blobs == again.blobs,
                  "a serialized dataset reads back to the same");
  });
}

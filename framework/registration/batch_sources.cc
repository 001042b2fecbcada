// SPDX-License-Identifier: Apache-2.0
#include "data/dataset_source.h"
#include "data/serialization.h"
#include "framework/strategy/batch_source.h"

namespace cornu {

std::shared_ptr<BatchSource> read_batch_source(std::string_view bytes) {
  const data::Dataset dataset = data::deserialize(data::SerializedDataset::from_bytes(bytes));
  return data::make_batch_source(dataset.node());
}

}  // namespace cornu

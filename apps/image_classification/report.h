// SPDX-License-Identifier: Apache-2.0
// What a trained model makes of pictures whose classes are known.
#pragma once

#include <cornu/cornu.h>

#include <cstdint>
#include <string>
#include <vector>

namespace apps {

struct Predictions {
  std::vector<int64_t> truth;
  std::vector<int64_t> guesses;
};
// Of all pictures of a dataset of (pictures, labels), in its order.
Predictions predict(cornu::Model& model, const cornu::data::Dataset& dataset);

// The confusion matrix, and the accuracy of each class, as text.
std::string confusion_table(const Predictions& predictions,
                            const std::vector<std::string>& classes);

// Writes the first pictures that were taken for something else (at most `most`), side by side in
// rows, and returns their numbers.
std::vector<size_t> write_wrong_pictures(const std::string& path, const Predictions& predictions,
                                         const cornu::data::Dataset& dataset, size_t most = 64);

}  // namespace apps

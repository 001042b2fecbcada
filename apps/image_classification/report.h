// SPDX-License-Identifier: Apache-2.0
// Evaluation of a trained model on pictures with known classes.
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
// For all pictures of a dataset of (pictures, labels), in order.
Predictions predict(cornu::Model& model, const cornu::data::Dataset& dataset);

// The confusion matrix, and the accuracy of each class, as text.
std::string confusion_table(const Predictions& predictions,
                            const std::vector<std::string>& classes);

// Writes the first misclassified pictures (at most `most`), side by side in rows, and returns their
// numbers.
std::vector<size_t> write_wrong_pictures(const std::string& path, const Predictions& predictions,
                                         const cornu::data::Dataset& dataset, size_t most = 64);

}  // namespace apps

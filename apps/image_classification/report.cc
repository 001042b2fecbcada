// SPDX-License-Identifier: Apache-2.0
#include "apps/image_classification/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace apps {

using namespace cornu;

Predictions predict(Model& model, const data::Dataset& dataset) {
  Predictions result;
  for (const data::Element& batch : dataset) {
    const auto labels = ops::cast(batch.tensor(1), DType::Int64).to_vector<int64_t>();
    result.truth.insert(result.truth.end(), labels.begin(), labels.end());
    const Tensor logits = model.predict_on_batch(batch.tensor(0));
    const auto guesses = ops::cast(ops::argmax(logits, -1), DType::Int64).to_vector<int64_t>();
    result.guesses.insert(result.guesses.end(), guesses.begin(), guesses.end());
  }
  return result;
}

std::string confusion_table(const Predictions& predictions,
                            const std::vector<std::string>& classes) {
  const size_t count = classes.size();
  std::vector<std::vector<int64_t>> counts(count, std::vector<int64_t>(count, 0));
  for (size_t i = 0; i < predictions.truth.size(); ++i) {
    ++counts.at(static_cast<size_t>(predictions.truth[i]))
          .at(static_cast<size_t>(predictions.guesses[i]));
  }
  size_t width = 8;
  for (const std::string& name : classes) width = std::max(width, name.size() + 1);
  std::string text = fmt::format("{:<{}}", "is \\ seen", width + 1);
  for (const std::string& name : classes) text += fmt::format("{:>{}}", name, width);
  text += fmt::format("{:>{}}\n", "accuracy", width + 1);
  for (size_t row = 0; row < count; ++row) {
    text += fmt::format("{:<{}}", classes[row], width + 1);
    int64_t all = 0;
    for (const int64_t number : counts[row]) {
      text += fmt::format("{:>{}}", number, width);
      all += number;
    }
    const auto right = static_cast<double>(counts[row][row]);
    text += all > 0 ? fmt::format("{:>{}.3f}\n", right / static_cast<double>(all), width + 1)
                    : fmt::format("{:>{}}\n", "-", width + 1);
  }
  return text;
}

std::vector<size_t> write_wrong_pictures(const std::string& path, const Predictions& predictions,
                                         const data::Dataset& dataset, size_t most) {
  std::vector<size_t> wrong;
  for (size_t i = 0; i < predictions.truth.size() && wrong.size() < most; ++i) {
    if (predictions.truth[i] != predictions.guesses[i]) wrong.push_back(i);
  }
  if (wrong.empty()) return wrong;
  std::vector<Tensor> pictures;
  size_t first = 0;  // of the batch
  for (const data::Element& batch : dataset) {
    const Tensor& x = batch.tensor(0);
    const auto rows = static_cast<size_t>(x.dim(0));
    for (const size_t number : wrong) {
      if (number < first || number >= first + rows) continue;
      const auto row = static_cast<int64_t>(number - first);
      pictures.push_back(ops::pad(x.rows(row, row + 1), {{0, 0}, {2, 2}, {2, 2}, {0, 0}}, 255.0));
    }
    first += rows;
  }
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(pictures.size())));
  while (pictures.size() % static_cast<size_t>(columns) != 0) {
    pictures.push_back(ops::full_like(pictures[0], 255.0));
  }
  const Tensor all = ops::concatenate(pictures, 0);
  const int64_t rows = all.dim(0) / columns;
  const int64_t height = all.dim(1);
  const int64_t width = all.dim(2);
  const Tensor grid = ops::reshape(all, {rows, columns, height, width, 3});
  data::save_img(
      path,
      ops::reshape(ops::transpose(grid, {0, 2, 1, 3, 4}), {rows * height, columns * width, 3}),
      {.scale = false});
  return wrong;
}

}  // namespace apps

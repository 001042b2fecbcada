// SPDX-License-Identifier: Apache-2.0
// Draws the images that image_folder.cc learns from: flowers/CLASS/NUMBER.png, with five classes.
#include <cornu/cornu.h>

using namespace cornu;

int main() {
  constexpr int64_t kSide = 64;
  const auto place = [](const Shape& shape) {
    return ops::reshape(ops::arange(0, kSide, 1, DType::Float32), shape);
  };
  int64_t seed = 0;
  for (int kind = 0; kind < 5; ++kind) {
    const std::filesystem::path folder = fmt::format("flowers/kind_{}", kind);
    std::filesystem::create_directories(folder);
    for (int number = 0; number < 8; ++number) {
      // Stripes whose width depends on the class, with some noise.
      const Tensor stripes = ops::sin((place({kSide, 1, 1}) + place({1, kSide, 1})) / (kind + 1));
      const Tensor noise = random::normal({kSide, kSide, 3}, {.seed = ++seed});
      data::save_img(folder / fmt::format("{}.png", number), stripes + 0.2 * noise);
    }
  }
}

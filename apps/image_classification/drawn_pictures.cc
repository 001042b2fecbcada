// SPDX-License-Identifier: Apache-2.0
#include "apps/image_classification/drawn_pictures.h"

#include <cornu/cornu.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace apps {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 96;

struct Kind {
  const char* name;
  std::array<double, 3> color;
  bool (*inside)(double x, double y);  // in the shape's own coordinates, about -1 to 1
};

constexpr std::array<Kind, 4> kKinds = {{
    {"circles", {220, 80, 60}, [](double x, double y) { return x * x + y * y < 1; }},
    {"crosses",
     {70, 190, 80},
     [](double x, double y) {
       const double a = std::abs(x);
       const double b = std::abs(y);
       return std::min(a, b) < 0.3 && std::max(a, b) < 1.1;
     }},
    {"squares",
     {70, 90, 220},
     [](double x, double y) { return std::max(std::abs(x), std::abs(y)) < 0.9; }},
    {"triangles",
     {220, 200, 60},
     [](double x, double y) { return y > -0.7 && y + 1.9 * std::abs(x) < 1.2; }},
}};

// One shape on a gray background, at a random position and angle, with some noise. Its color also
// identifies its kind, so that a few hundred pictures are enough.
cornu::Tensor draw(const Kind& kind, uint64_t seed) {
  cornu::PhiloxEngine random(seed);
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform();
  };
  const double ground = between(40, 210);
  std::array<double, 3> color = kind.color;
  for (double& part : color) part += between(-35, 35);
  const double size = between(0.2, 0.35) * kSide;
  const double left = between(0.35, 0.65) * kSide;
  const double top = between(0.35, 0.65) * kSide;
  const double angle = between(0, 6.3);
  cornu::Tensor picture = cornu::Tensor::empty({kSide, kSide, 3}, cornu::DType::Float32);
  float* at = picture.mutable_data<float>().data();
  for (int64_t row = 0; row < kSide; ++row) {
    for (int64_t column = 0; column < kSide; ++column) {
      const double x = (static_cast<double>(column) - left) / size;
      const double y = (static_cast<double>(row) - top) / size;
      const bool inside = kind.inside(x * std::cos(angle) + y * std::sin(angle),
                                      y * std::cos(angle) - x * std::sin(angle));
      for (size_t i = 0; i < 3; ++i) {
        const double value = (inside ? color[i] : ground) + between(-20, 20);
        *at++ = static_cast<float>(std::clamp(value, 0.0, 255.0));
      }
    }
  }
  return picture;
}

}  // namespace

fs::path drawn_pictures(int64_t count) {
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("cornu_drawn_pictures_{}_{}", getuid(), count);
  if (fs::is_directory(folder)) return folder;
  // Created under another name, so that a folder with this name is always complete.
  const fs::path making = folder.string() + fmt::format("_{}", getpid());
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    fs::create_directories(making / kKinds[kind].name);
    for (int64_t i = 0; i < count; ++i) {
      cornu::data::save_img(making / kKinds[kind].name / fmt::format("{:04}.png", i),
                            draw(kKinds[kind], static_cast<uint64_t>(i) * kKinds.size() + kind),
                            {.scale = false});
    }
  }
  std::error_code taken;
  fs::rename(making, folder, taken);
  if (taken) fs::remove_all(making);  // another process was faster
  return folder;
}

}  // namespace apps

// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/synthetic_digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "framework/core/random.h"
#include "framework/core/threads.h"

namespace cornu::datasets {
namespace {

constexpr int64_t kSize = 28;
constexpr uint64_t kTestStream = uint64_t{1} << 32;  // indices of test examples start here

// In the unit square, with y pointing down.
struct Point {
  float x;
  float y;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// An elliptical arc; angles in degrees, 0 to the right, 90 down.
Stroke arc(Point center, float rx, float ry, float from, float to) {
  constexpr int kParts = 14;
  Stroke stroke;
  for (int i = 0; i <= kParts; ++i) {
    const float angle =
        (from + (to - from) * static_cast<float>(i) / kParts) * std::numbers::pi_v<float> / 180.0f;
    stroke.push_back({center.x + rx * std::cos(angle), center.y + ry * std::sin(angle)});
  }
  return stroke;
}

Stroke joined(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const std::array<Glyph, 10>& glyphs() {
  static const std::array<Glyph, 10> table = {{
      {arc({0.5f, 0.5f}, 0.22f, 0.32f, 0, 360)},
      {{{0.36f, 0.32f}, {0.52f, 0.18f}, {0.52f, 0.82f}}},
      {joined(arc({0.5f, 0.36f}, 0.2f, 0.18f, 180, 390), {{0.3f, 0.8f}, {0.72f, 0.8f}})},
      {arc({0.47f, 0.34f}, 0.19f, 0.16f, 200, 450), arc({0.47f, 0.66f}, 0.21f, 0.17f, 270, 520)},
      {{{0.56f, 0.18f}, {0.28f, 0.6f}, {0.76f, 0.6f}}, {{0.62f, 0.38f}, {0.6f, 0.83f}}},
      {joined({{0.68f, 0.2f}, {0.37f, 0.2f}, {0.34f, 0.47f}},
              arc({0.47f, 0.62f}, 0.2f, 0.2f, 225, 510))},
      {arc({0.64f, 0.62f}, 0.33f, 0.44f, 270, 180), arc({0.5f, 0.65f}, 0.18f, 0.17f, 0, 360)},
      {{{0.3f, 0.2f}, {0.7f, 0.2f}, {0.45f, 0.82f}}},
      {arc({0.5f, 0.34f}, 0.16f, 0.15f, 0, 360), arc({0.5f, 0.66f}, 0.2f, 0.17f, 0, 360)},
      {arc({0.5f, 0.36f}, 0.18f, 0.17f, 0, 360), {{0.68f, 0.36f}, {0.66f, 0.6f}, {0.56f, 0.82f}}},
  }};
  return table;
}

// A handwriting: how it positions, slants and bends strokes.
class Hand {
 public:
  explicit Hand(PhiloxEngine& random) {
    auto between = [&](float low, float high) { return low + (high - low) * random.uniform(); };
    const float turn = between(-0.2f, 0.2f);
    const float slant = between(-0.25f, 0.25f);
    const float width = between(0.75f, 1.15f);
    const float height = between(0.85f, 1.1f);
    xx_ = width * std::cos(turn);
    xy_ = height * (slant * std::cos(turn) - std::sin(turn));
    yx_ = width * std::sin(turn);
    yy_ = height * (slant * std::sin(turn) + std::cos(turn));
    shift_ = {between(-0.07f, 0.07f), between(-0.07f, 0.07f)};
    bend_ = {between(-0.04f, 0.04f), between(-0.04f, 0.04f)};
    phase_ = {between(0, 6.28f), between(0, 6.28f)};
    pen_ = between(0.7f, 1.7f);
  }

  // In pixels.
  Point place(Point p) const {
    constexpr float kWaves = 5.0f;  // radians across the image: for bends, not wiggles
    const float u = p.x - 0.5f + bend_.x * std::sin(kWaves * p.y + phase_.x);
    const float v = p.y - 0.5f + bend_.y * std::sin(kWaves * p.x + phase_.y);
    return {kSize * (0.5f + shift_.x + xx_ * u + xy_ * v),
            kSize * (0.5f + shift_.y + yx_ * u + yy_ * v)};
  }
  float pen() const { return pen_; }  // half the line width in pixels

 private:
  float xx_, xy_, yx_, yy_;
  Point shift_;
  Point bend_;
  Point phase_;
  float pen_;
};

float distance(Point p, Point a, Point b) {
  const float dx = b.x - a.x;
  const float dy = b.y - a.y;
  const float length = dx * dx + dy * dy;
  const float along = length > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0;
  const float t = std::clamp(along, 0.0f, 1.0f);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// Draws an antialiased line; where lines cross, the darker value counts.
void draw_line(Point a, Point b, float pen, std::span<uint8_t> image) {
  const float reach = pen + 1;
  auto pixel = [](float at) {
    return static_cast<int64_t>(std::clamp(at, 0.0f, static_cast<float>(kSize - 1)));
  };
  for (int64_t y = pixel(std::min(a.y, b.y) - reach); y <= pixel(std::max(a.y, b.y) + reach); ++y) {
    for (int64_t x = pixel(std::min(a.x, b.x) - reach); x <= pixel(std::max(a.x, b.x) + reach);
         ++x) {
      const Point center{static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
      const float ink = std::clamp(pen + 0.5f - distance(center, a, b), 0.0f, 1.0f);
      uint8_t& value = image[static_cast<size_t>(y * kSize + x)];
      value = std::max(value, static_cast<uint8_t>(255 * ink + 0.5f));
    }
  }
}

// Draws an example and returns its label.
uint8_t draw_example(uint64_t seed, uint64_t index, std::span<uint8_t> image) {
  PhiloxEngine random(seed, index);
  const uint64_t digit = random.below(10);
  const Hand hand(random);
  std::fill(image.begin(), image.end(), uint8_t{0});
  for (const Stroke& stroke : glyphs()[digit]) {
    for (size_t i = 1; i < stroke.size(); ++i) {
      draw_line(hand.place(stroke[i - 1]), hand.place(stroke[i]), hand.pen(), image);
    }
  }
  return static_cast<uint8_t>(digit);
}

Examples draw(int64_t count, int64_t seed, uint64_t first) {
  check<InvalidArgument>(count >= 0, "synthetic_digits: expected a number of examples, got {}.",
                         count);
  Examples examples{Tensor::empty({count, kSize, kSize}, DType::UInt8),
                    Tensor::empty({count}, DType::UInt8)};
  const auto images = examples.x.mutable_data<uint8_t>();
  const auto labels = examples.y.mutable_data<uint8_t>();
  constexpr size_t kPixels = kSize * kSize;
  parallel_for(count, /*grain=*/64, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      labels[i] = draw_example(static_cast<uint64_t>(seed), first + i,
                               images.subspan(i * kPixels, kPixels));
    }
  });
  return examples;
}

}  // namespace

Splits synthetic_digits(const SyntheticDigitsOptions& options) {
  return {draw(options.train, options.seed, 0), draw(options.test, options.seed, kTestStream)};
}

}  // namespace cornu::datasets

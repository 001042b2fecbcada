// SPDX-License-Identifier: Apache-2.0
#include "framework/core/shape.h"

#include <doctest/doctest.h>

#include "framework/core/device.h"
#include "framework/core/error.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

TEST_CASE("text as Python writes tuples") {
  CHECK(Shape{}.to_string() == "()");
  CHECK(Shape{10}.to_string() == "(10,)");
  CHECK(Shape{kUnknown, 784}.to_string() == "(None, 784)");
  CHECK(fmt::format("{}", Shape{0, 2, 3}) == "(0, 2, 3)");
}

TEST_CASE("elements, slices and concatenation") {
  CHECK(Shape{}.num_elements() == 1);
  CHECK(Shape{2, 0, 3}.num_elements() == 0);
  CHECK(Shape{2, 5, 3}.num_elements() == 30);
  CHECK(Shape{2, 5}.is_static());
  CHECK_FALSE(Shape{2, kUnknown}.is_static());
  CHECK(error_of([] {
          Shape{2, kUnknown}.num_elements();
        }) ==
        "InvalidArgument: Shape (2, None): expected sizes from 0 that are all known, to count "
        "elements. Those of a placeholder are known within a layer's call.");
  constexpr int64_t kLarge = int64_t{1} << 32;
  CHECK_THROWS_AS((Shape{kLarge, kLarge}.num_elements()), InvalidArgument);
  CHECK(Shape{kLarge, kLarge, 0}.num_elements() == 0);
  CHECK(Shape{kLarge, kLarge / 4}.num_elements() == int64_t{1} << 62);
  CHECK_THROWS_AS((Shape{kLarge, kLarge / 4}.num_bytes(8)), InvalidArgument);
  CHECK(Shape{3, 2}.num_bytes(4) == 24);
  CHECK(Shape{2, 5, 3}.slice(1) == Shape{5, 3});
  CHECK(Shape{2, 5, 3}.slice(0, 2) == Shape{2, 5});
  CHECK(Shape{2, 5, 3}.slice(3) == Shape{});
  CHECK(Shape{2, 5, 3}.slice(0, -1) == Shape{2, 5});
  CHECK(Shape{2, 5, 3}.slice(-2) == Shape{5, 3});
  CHECK(Shape{2}.slice(1, 7) == Shape{});
  CHECK(Shape{}.slice(1) == Shape{});
  CHECK(Shape{2}.concat({5, 3}) == Shape{2, 5, 3});
  CHECK(Shape{}.concat(Shape{}) == Shape{});
}

TEST_CASE("axes count from either end") {
  const Shape shape{4, 5, 6};
  CHECK(shape.normalize_axis(0, "op") == 0);
  CHECK(shape.normalize_axis(2, "op") == 2);
  CHECK(shape.normalize_axis(-1, "op") == 2);
  CHECK(shape.normalize_axis(-3, "op") == 0);
  CHECK(error_of([&] { shape.normalize_axis(3, "op"); }) ==
        "OutOfRange: op: expected an axis in [-3, 3) for shape (4, 5, 6), got 3.");
  CHECK_THROWS_AS(shape.normalize_axis(-4, "op"), OutOfRange);
  CHECK_THROWS_AS(Shape{}.normalize_axis(0, "op"), OutOfRange);
}

TEST_CASE("indices count from either end, and others are refused") {
  Shape shape{4, 5, 6};
  CHECK(shape[0] == 4);
  CHECK(shape[-1] == 6);
  CHECK(shape[-3] == 4);
  shape[-1] = 7;
  CHECK(shape.back() == 7);
  CHECK(error_of([&] { shape[3]; }) ==
        "OutOfRange: Shape (4, 5, 7): expected an axis in [-3, 3), got 3.");
  CHECK_THROWS_AS(shape[-4], OutOfRange);
  CHECK_THROWS_AS(Shape{}.front(), OutOfRange);
  CHECK_THROWS_AS(Shape{}.back(), OutOfRange);
}

TEST_CASE("broadcasting goes by NumPy's rules") {
  struct Case {
    Shape a, b, expected;
  };
  for (const Case& c : {Case{{}, {}, {}},
                        {{2, 3}, {}, {2, 3}},
                        {{2, 3}, {3}, {2, 3}},
                        {{2, 1}, {1, 3}, {2, 3}},
                        {{4, 1, 3}, {2, 1}, {4, 2, 3}},
                        {{0, 3}, {1, 3}, {0, 3}},
                        {{1}, {0}, {0}},
                        {{kUnknown, 3}, {1, 3}, {kUnknown, 3}},
                        {{kUnknown, 3}, {5, 3}, {5, 3}},
                        {{kUnknown}, {kUnknown}, {kUnknown}}}) {
    CAPTURE(c.a.to_string());
    CAPTURE(c.b.to_string());
    CHECK(broadcast_shapes(c.a, c.b, "op") == c.expected);
    CHECK(broadcast_shapes(c.b, c.a, "op") == c.expected);
  }
  CHECK(error_of([] {
          broadcast_shapes({2, 3}, {2}, "add");
        }) ==
        "InvalidArgument: add: expected shapes that can be broadcast together, got (2, 3) and "
        "(2,). Axes must be equal or 1, counted from the last.");
  CHECK_THROWS_AS(broadcast_shapes({0}, {2}, "add"), InvalidArgument);
}

TEST_CASE("an option may be a shape or none") {
  const OptionalShape none;
  const OptionalShape scalar = Shape{};
  const OptionalShape image = {28, 28};
  CHECK_FALSE(none.has_value());
  CHECK(scalar.value().empty());
  CHECK(image.value() == Shape{28, 28});
}

TEST_CASE("devices are read from their names") {
  CHECK(Device::parse("CPU") == Device{});
  CHECK(Device::parse("cpu:3") == Device{DeviceType::Cpu, 3});
  CHECK(Device::parse("Gpu:1").to_string() == "GPU:1");
  CHECK(fmt::format("{}", Device::parse("TPU")) == "TPU:0");
  CHECK(Device::parse("/gpu:0") == Device{DeviceType::Gpu, 0});
  CHECK(Device::parse("/device:CPU:1") == Device{DeviceType::Cpu, 1});
  CHECK(Device::parse("/job:localhost/replica:0/task:0/device:GPU:2").to_string() == "GPU:2");
  CHECK(Device::parse("/job:worker/replica:0/task:1/cpu:0") == Device{});
  CHECK(Device::parse("/device:GPU:1") == Device{DeviceType::Gpu, 1});
  CHECK(Device::parse("device:CPU:0") == Device{});
  for (const char* wrong :
       {"", "/", "/job:localhost", "GPU:0/", "GPU:-1", "GPU:x", "device:", "device:device:GPU:0",
        "/nonsense/GPU:0", "/job:/GPU:0", "/task:x/GPU:0", "//GPU:0", "GPU:0/GPU:1", "GPU:+1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(Device::parse(wrong), InvalidArgument);
  }
  CHECK(error_of([] { Device::parse("DSP:0"); }) ==
        "InvalidArgument: Device 'DSP:0': expected CPU, GPU or TPU with an index, as in 'GPU:0', "
        "'/gpu:0', '/device:GPU:0' or '/job:localhost/replica:0/task:0/device:GPU:0'.");
}

// SPDX-License-Identifier: Apache-2.0
#include "framework/model/stft_initializer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <utility>

#include "framework/core/strings.h"
#include "framework/model/register.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"

namespace cornu::initializers {
namespace {

using std::numbers::pi;

// Evaluates a window of `size` samples at x, which ranges from -1 at the first sample to 1 at the
// last.
using WindowShape = std::function<double(double x, int64_t size)>;

// A sum of cosines with these coefficients.
WindowShape cosines(std::vector<double> factors) {
  return [factors = std::move(factors)](double x, int64_t) {
    double sum = 0;
    for (size_t k = 0; k < factors.size(); ++k) {
      sum += factors[k] * std::cos(static_cast<double>(k) * pi * x);
    }
    return sum;
  };
}

double parzen(double x) {
  const double a = std::abs(x);
  return a <= 0.5 ? 1 - 6 * a * a * (1 - a) : 2 * std::pow(1 - a, 3);
}

double lanczos(double x) { return x == 0 ? 1.0 : std::sin(pi * x) / (pi * x); }

// With 4 nearly constant sidelobes, 30 dB below the main lobe.
double taylor(double x) {
  constexpr int kLobes = 4;
  const double a = std::acosh(std::pow(10.0, 30.0 / 20)) / pi;
  const double width = kLobes * kLobes / (a * a + (kLobes - 0.5) * (kLobes - 0.5));
  double sum = 1;
  double largest = 1;
  for (int m = 1; m < kLobes; ++m) {
    double factor = m % 2 == 1 ? 1 : -1;
    for (int other = 1; other < kLobes; ++other) {
      factor *= 1 - m * m / width / (a * a + (other - 0.5) * (other - 0.5));
      if (other != m) factor /= 1 - static_cast<double>(m * m) / (other * other);
    }
    sum += factor * std::cos(pi * m * x);
    largest += factor;
  }
  return sum / largest;
}

// Rescales x so that -1 and 1 are half a sample before the first and after the last sample.
double within(double x, int64_t size) {
  return x * static_cast<double>(size - 1) / static_cast<double>(size);
}

const std::map<std::string, WindowShape>& window_shapes() {
  static const auto* shapes = new std::map<std::string, WindowShape>{
      {"barthann",
       [](double x, int64_t) { return 0.62 - 0.48 * std::abs(x / 2) + 0.38 * std::cos(pi * x); }},
      {"bartlett", [](double x, int64_t) { return 1 - std::abs(x); }},
      {"blackman", cosines({0.42, 0.5, 0.08})},
      {"blackmanharris", cosines({0.35875, 0.48829, 0.14128, 0.01168})},
      {"bohman",
       [](double x, int64_t) {
         const double a = std::abs(x);
         return a == 1 ? 0.0 : (1 - a) * std::cos(pi * a) + std::sin(pi * a) / pi;
       }},
      {"boxcar", cosines({1})},
      {"cosine", [](double x, int64_t size) { return std::cos(pi / 2 * within(x, size)); }},
      {"exponential",
       [](double x, int64_t size) {
         return std::exp(-std::abs(x) * static_cast<double>(size - 1) / 2);
       }},
      {"flattop", cosines({0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368})},
      {"hamming", cosines({0.54, 0.46})},
      {"hann", cosines({0.5, 0.5})},
      {"lanczos", [](double x, int64_t) { return lanczos(x); }},
      {"nuttall", cosines({0.3635819, 0.4891775, 0.1365995, 0.0106411})},
      {"parzen", [](double x, int64_t size) { return parzen(within(x, size)); }},
      {"taylor", [](double x, int64_t size) { return taylor(within(x, size)); }},
      {"triang",
       [](double x, int64_t size) {
         const auto samples = static_cast<double>(size);
         const double beyond = size % 2 == 0 ? samples : samples + 1;
         return 1 - std::abs(x) * (samples - 1) / beyond;
       }},
      {"tukey",
       [](double x, int64_t) {
         const double a = std::abs(x);
         return a <= 0.5 ? 1.0 : (1 - std::cos(2 * pi * a)) / 2;
       }},
  };
  return *shapes;
}

}  // namespace

STFT::STFT(const STFTOptions& options) : options_(options) {
  check<InvalidArgument>(options.side == "real" || options.side == "imag",
                         "STFT: expected side \"real\" or \"imag\", got \"{}\".", options.side);
  check<InvalidArgument>(
      options.scaling.empty() || options.scaling == "density" || options.scaling == "spectrum",
      "STFT: expected scaling \"density\", \"spectrum\" or empty, got \"{}\".", options.scaling);
  const bool is_named = options.window_values.empty() && !options.window.empty();
  if (is_named && !window_shapes().contains(options.window)) {
    std::vector<std::string> known;
    for (const auto& entry : window_shapes()) known.push_back(entry.first);
    raise<InvalidArgument>("STFT: unknown window '{}'.{}", options.window,
                           did_you_mean(options.window, known));
  }
}

std::vector<double> STFT::window(int64_t size) const {
  if (!options_.window_values.empty()) {
    check<InvalidArgument>(std::ssize(options_.window_values) == size,
                           "STFT: expected as many window_values as the {} samples of a frame, got "
                           "{}.",
                           size, options_.window_values.size());
    return options_.window_values;
  }
  const WindowShape& shape = window_shapes().at(options_.window);
  // A periodic window would repeat one sample after its end.
  const int64_t whole = options_.periodic ? size + 1 : size;
  std::vector<double> result;
  for (int64_t i = 0; i < size; ++i) {
    const double x = 2.0 * static_cast<double>(i) / static_cast<double>(whole - 1) - 1.0;
    result.push_back(size == 1 ? 1.0 : shape(x, whole));
  }
  return result;
}

Tensor STFT::operator()(const Shape& shape, DType dtype) const {
  check<InvalidArgument>(shape.rank() == 3 && shape[2] >= 2,
                         "STFT: expected the shape (samples of a frame, 1, frequencies), of at "
                         "least two frequencies, got {}.",
                         shape);
  check<InvalidArgument>(is_floating(dtype), "STFT: expected a floating dtype, got {}.", dtype);
  const DType wide = dtype == DType::Float64 ? dtype : DType::Float32;
  // Rounded as in Keras, because the angles become large.
  const Tensor frequencies =
      ops::cast(ops::arange(shape[2]), wide) / static_cast<double>((shape[2] - 1) * 2);
  const Tensor times = ops::reshape(ops::cast(ops::arange(shape[0]), wide), {shape[0], 1, 1});
  const Tensor angles = times * -2.0 * frequencies * pi;
  Tensor kernel = options_.side == "real" ? ops::cos(angles) : ops::sin(angles);
  if (!options_.window.empty() || !options_.window_values.empty()) {
    const Tensor values = ops::cast(Tensor::from(window(shape[0]), {shape[0], 1, 1}), wide);
    kernel = kernel * values;
    if (options_.scaling == "density") kernel = kernel / ops::sqrt(ops::sum(ops::square(values)));
    if (options_.scaling == "spectrum") kernel = kernel / ops::sum(ops::abs(values));
  }
  return ops::cast(ops::broadcast_to(kernel, shape), dtype);
}

Json STFT::get_config() const {
  auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return Json::object(
      {{"side", options_.side},
       {"window", options_.window_values.empty() ? or_null(options_.window)
                                                 : config_value(options_.window_values)},
       {"periodic", options_.periodic},
       {"scaling", or_null(options_.scaling)}});
}

void register_stft(Registry<InitializerFactory>& registry) {
  registry.add("STFT", [](const Json& config) -> Initializer {
    STFTOptions options;
    ConfigReader fields(config);
    fields("side", options.side);
    fields("periodic", options.periodic);
    if (const Json* window = config.find("window")) {
      const bool is_name = window->is_string();
      options.window = is_name ? window->as_string() : "";
      if (!is_name) set_from_config(*window, options.window_values);
    }
    if (const Json* scaling = config.find("scaling")) {
      options.scaling = scaling->is_null() ? "" : scaling->as_string();
    }
    return STFT(options);
  });
  registry.add_alias("STFTInitializer", "STFT");
}

}  // namespace cornu::initializers

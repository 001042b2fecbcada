// SPDX-License-Identifier: Apache-2.0
// Draws by rejection. Element i takes as many words as it needs from philox(key, 0…, stream i + 1),
// so that no element depends on another.
#include <cmath>
#include <limits>
#include <numbers>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kDrawsGrain = 512;  // draws per thread, at least
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A number in (0, 1), so that its logarithm is finite.
double open_unit(PhiloxEngine& engine) {
  const uint32_t high = engine();
  return to_unit_double(high, engine()) + 0x1p-54;
}

double standard_normal(PhiloxEngine& engine) {
  const double radius = std::sqrt(-2 * std::log(open_unit(engine)));
  return radius * std::cos(2 * std::numbers::pi * open_unit(engine));
}

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
double draw_gamma(double alpha, PhiloxEngine& engine) {
  if (!(alpha > 0)) return kNan;
  if (alpha < 1) {  // scale a draw for alpha + 1
    const double scale = std::pow(open_unit(engine), 1 / alpha);
    return draw_gamma(alpha + 1, engine) * scale;
  }
  const double d = alpha - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  if (!std::isfinite(d)) return alpha;
  for (;;) {
    const double x = standard_normal(engine);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(open_unit(engine)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

// The logarithm of a gamma draw, which would underflow to 0 for small shapes.
double draw_log_gamma(double alpha, PhiloxEngine& engine) {
  if (!(alpha < 1 && alpha > 0)) return std::log(draw_gamma(alpha, engine));
  const double scale = std::log(open_unit(engine)) / alpha;
  return std::log(draw_gamma(alpha + 1, engine)) + scale;
}

// log(k!) minus its approximation by Stirling's formula.
double stirling_error(double k) {
  constexpr double kSmall[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983,
                               0.0207906721037650, 0.0166446911898211, 0.0138761288230707,
                               0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
                               0.00833056343336287};
  if (k < 10) return kSmall[static_cast<int>(k)];
  const double inverse = 1 / (k + 1);
  const double squared = inverse * inverse;
  return (1.0 / 12 - (1.0 / 360 - squared / 1260) * squared) * inverse;
}

// By the gaps between successes, which are geometric; for few expected successes.
double draw_by_gaps(double n, double p, PhiloxEngine& engine) {
  const double scale = std::log1p(-p);
  double successes = 0;
  for (double trials = 0;; ++successes) {
    trials += std::ceil(std::log(open_unit(engine)) / scale);
    if (!(trials <= n)) return successes;
  }
}

// BTRS of Hoermann, "The generation of binomial random variates" (1993), for p <= 1/2, n p >= 10.
double draw_by_rejection(double n, double p, PhiloxEngine& engine) {
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p);
  for (;;) {
    const double u = open_unit(engine) - 0.5;
    const double v = open_unit(engine);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (!(k >= 0 && k <= n)) continue;
    if (us >= 0.07 && v <= box) return k;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_error(mode) +
                         stirling_error(n - mode) - stirling_error(k) - stirling_error(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

double draw_binomial(double n, double p, PhiloxEngine& engine) {
  if (!(n >= 0) || !(p >= 0 && p <= 1) || std::isinf(n)) return kNan;
  n = std::floor(n);
  if (p > 0.5) return n - draw_binomial(n, 1 - p, engine);
  if (n == 0 || p == 0) return 0;
  return n * p < 10 ? draw_by_gaps(n, p, engine) : draw_by_rejection(n, p, engine);
}

// A kernel that computes draw(args, i, engine) for each element i.
template <class T, class Draw>
std::unique_ptr<Kernel> make_draws(const KernelSpec& spec, Draw draw) {
  const size_t last = spec.inputs.size() - 1;
  const bool placed = spec.attributes.find("placed") != nullptr;  // has an offset operand
  return make_kernel([=, count = spec.outputs[0].shape.num_elements()](const KernelArgs& args) {
    const int64_t offset = placed ? *static_cast<const int64_t*>(args.in[last]) : 0;
    const auto* seed = static_cast<const uint32_t*>(args.in[0]);
    const uint64_t key = seed[0] | uint64_t{seed[1]} << 32;
    T* out = static_cast<T*>(args.out[0]);
    parallel_for(count, kDrawsGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        PhiloxEngine engine(key, static_cast<uint64_t>(offset + i) + 1);
        out[i] = static_cast<T>(draw(args, i, engine));
      }
    });
  });
}

template <class T>
double operand(const KernelArgs& args, int input, int64_t i) {
  return static_cast<double>(static_cast<const T*>(args.in[input])[i]);
}

template <class T>
std::unique_ptr<Kernel> make_gamma_of(const KernelSpec& spec) {
  auto by = [&](auto draw) {
    return make_draws<T>(spec, [=](const KernelArgs& args, int64_t i, PhiloxEngine& engine) {
      return draw(operand<T>(args, 1, i), engine);
    });
  };
  return spec.attributes.get_bool("log") ? by(draw_log_gamma) : by(draw_gamma);
}
template <class T>
std::unique_ptr<Kernel> make_binomial_of(const KernelSpec& spec) {
  return make_draws<T>(spec, [](const KernelArgs& args, int64_t i, PhiloxEngine& engine) {
    return draw_binomial(operand<T>(args, 1, i), operand<T>(args, 2, i), engine);
  });
}

std::unique_ptr<Kernel> make_gamma(const KernelSpec& spec) {
  if (spec.outputs[0].dtype == DType::Float32) return make_gamma_of<float>(spec);
  if (spec.outputs[0].dtype == DType::Float64) return make_gamma_of<double>(spec);
  return through_float32(spec, make_gamma);
}
std::unique_ptr<Kernel> make_binomial(const KernelSpec& spec) {
  if (spec.outputs[0].dtype == DType::Float32) return make_binomial_of<float>(spec);
  if (spec.outputs[0].dtype == DType::Float64) return make_binomial_of<double>(spec);
  return through_float32(spec, make_binomial);
}

}  // namespace

void register_distribution_kernels(KernelTable& table) {
  table.add("random_gamma", make_gamma);
  table.add("random_binomial", make_binomial);
}

}  // namespace cornu::cpu

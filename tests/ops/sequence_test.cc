// SPDX-License-Identifier: Apache-2.0
// CTC, rearranged axes, bits and Bessel's function: tests/golden compares the values with Keras's,
// so this file tests gradients, other dtypes, plain references where Keras has none, and errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

template <class F>
std::string refused(F f) {
  return message_of<InvalidArgument>(f);
}

TEST_CASE("ctc_loss: gradients, with lengths and any blank") {
  const Tensor labels = Tensor::from<int32_t>({1, 1, 0, 2, 9, 9}, {2, 3});
  const Tensor lengths = Tensor::from<int32_t>({3, 1}), steps = Tensor::from<int32_t>({5, 3});
  const OpFunction loss = [&](const Inputs& in) {
    return ops::ctc_loss(labels, in[0], lengths, steps, 3);
  };
  const Tensor logits = random_tensor({2, 5, 4});
  check_compiled(loss, {logits}, 1e-9);
  check_gradients(loss, {logits}, {.second_order = false});
  // Steps after the end don't count.
  const Tensor other = ops::where(ops::reshape(ops::arange(5), {1, 5, 1}) < 3, logits, 7.0);
  check_same(loss({other})[1], loss({logits})[1], 1e-12);
  CHECK(ops::ctc_loss(labels, ops::cast(logits, DType::Float16), lengths, steps, 3).dtype() ==
        DType::Float32);
}

// The most likely sequences of labels with their log probabilities, found by trying all paths.
std::vector<std::pair<double, std::vector<int>>> likeliest(const std::vector<double>& logits,
                                                           int steps, int classes) {
  std::map<std::vector<int>, double> found;
  for (int number = 0; number < std::pow(classes, steps); ++number) {
    std::vector<int> said;
    double probability = 1;
    int before = 0;
    for (int t = 0, rest = number; t < steps; ++t, rest /= classes) {
      const int label = rest % classes;
      double sum = 0;
      for (int k = 0; k < classes; ++k) sum += std::exp(logits[t * classes + k]);
      probability *= std::exp(logits[t * classes + label]) / sum;
      if (label != 0 && label != before) said.push_back(label);
      before = label;
    }
    found[said] += probability;
  }
  std::vector<std::pair<double, std::vector<int>>> sorted;
  for (const auto& [said, probability] : found) sorted.emplace_back(std::log(probability), said);
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted;
}

TEST_CASE("ctc_decode: a wide beam finds the likeliest of all sequences") {
  constexpr int kSteps = 6, kClasses = 4, kPaths = 5;
  const Tensor logits = random_tensor({3, kSteps, kClasses}, -1, 1, 7);
  const OpFunction decode = [&](const Inputs& in) {
    const auto [paths, scores] =
        ops::ctc_decode(in[0], Tensor::from<int32_t>({kSteps, kSteps, kSteps}),
                        {.strategy = "beam_search", .beam_width = 600, .top_paths = kPaths});
    return ops::concatenate(
        {ops::cast(ops::transpose(paths, {1, 0, 2}), DType::Float64), ops::expand_dims(scores, 2)},
        2);
  };
  const std::vector<double> found = to_doubles(check_compiled(decode, {logits}, 1e-9));
  for (int i = 0; i < 3; ++i) {
    const auto expected = likeliest(to_doubles(logits[i]), kSteps, kClasses);
    for (int path = 0; path < kPaths; ++path) {
      CAPTURE(path);
      const double* at = found.data() + (i * kPaths + path) * (kSteps + 1);
      std::vector<int> said;
      for (int t = 0; t < kSteps && at[t] >= 0; ++t) said.push_back(static_cast<int>(at[t]));
      CHECK(said == expected[static_cast<size_t>(path)].second);
      CHECK(at[kSteps] == doctest::Approx(expected[static_cast<size_t>(path)].first));
    }
  }
}

double log_of_sum(double a, double b) {
  const double larger = std::max(a, b);
  return std::isinf(larger) ? larger
                            : larger + std::log(std::exp(a - larger) + std::exp(b - larger));
}

// A beam search of width `width` over sequences, with the probabilities of paths that end in a
// blank and of those that end in a label.
std::vector<std::pair<double, std::vector<int>>> plain_search(const std::vector<double>& logits,
                                                              int steps, int classes,
                                                              size_t width) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  using Beam = std::map<std::vector<int>, std::pair<double, double>>;
  Beam beam = {{{}, {0, kNever}}};
  std::vector<std::pair<double, std::vector<int>>> sorted;
  for (int t = 0; t < steps; ++t) {
    double sum = 0;
    for (int k = 0; k < classes; ++k) sum += std::exp(logits[t * classes + k]);
    const auto said = [&](int label) { return logits[t * classes + label] - std::log(sum); };
    Beam next;
    const auto add = [&](const std::vector<int>& labels, double blank, double label) {
      auto& found = next.try_emplace(labels, kNever, kNever).first->second;
      found = {log_of_sum(found.first, blank), log_of_sum(found.second, label)};
    };
    for (const auto& [labels, ends] : beam) {
      const double total = log_of_sum(ends.first, ends.second);
      add(labels, total + said(0), labels.empty() ? kNever : ends.second + said(labels.back()));
      for (int label = 1; label < classes; ++label) {
        std::vector<int> longer = labels;
        longer.push_back(label);
        const bool repeats = !labels.empty() && labels.back() == label;
        add(longer, kNever, (repeats ? ends.first : total) + said(label));
      }
    }
    sorted.clear();
    for (const auto& [labels, ends] : next) {
      const double total = log_of_sum(ends.first, ends.second);
      if (total > kNever) sorted.emplace_back(total, labels);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    sorted.resize(std::min(sorted.size(), width));
    beam.clear();
    for (const auto& [total, labels] : sorted) beam[labels] = next[labels];
  }
  return sorted;
}

TEST_CASE("ctc_decode: a narrow beam keeps the likeliest sequences of each step") {
  constexpr int kSteps = 9, kClasses = 4;
  const Tensor logits = random_tensor({6, kSteps, kClasses}, -1, 1, 11);
  const Tensor lengths = Tensor::from<int32_t>({9, 9, 8, 5, 1, 9});
  for (const int64_t width : {1, 2, 3, 7, 20}) {
    const auto [paths, scores] = ops::ctc_decode(
        logits, lengths, {.strategy = "beam_search", .beam_width = width, .top_paths = width});
    const std::vector<double> totals = to_doubles(scores), labels = to_doubles(paths);
    for (int64_t i = 0; i < 6; ++i) {
      const auto expected = plain_search(to_doubles(logits[i]), lengths[i].item<int>(), kClasses,
                                         static_cast<size_t>(width));
      for (int64_t path = 0; path < width; ++path) {
        CAPTURE(width);
        CAPTURE(i);
        CAPTURE(path);
        const double total = totals[static_cast<size_t>(i * width + path)];
        const double* at = labels.data() + (path * 6 + i) * kSteps;
        std::vector<int> said;
        for (int t = 0; t < kSteps && at[t] >= 0; ++t) said.push_back(static_cast<int>(at[t]));
        if (path >= static_cast<int64_t>(expected.size())) {
          CHECK(std::isinf(total));
          CHECK(said.empty());
        } else {
          CHECK(total == doctest::Approx(expected[static_cast<size_t>(path)].first));
          CHECK(said == expected[static_cast<size_t>(path)].second);
        }
      }
    }
  }
}

TEST_CASE("ctc_decode: fewer sequences than were asked for, and none") {
  const auto [paths, scores] =
      ops::ctc_decode(ops::zeros({1, 1, 2}), Tensor::from<int32_t>({1}),
                      {.strategy = "beam_search", .beam_width = 4, .top_paths = 3});
  CHECK(paths.shape() == Shape{3, 1, 1});
  const std::vector<double> numbers = to_doubles(scores);
  CHECK(numbers[0] == doctest::Approx(std::log(0.5)));
  CHECK(numbers[1] == doctest::Approx(std::log(0.5)));
  CHECK(numbers[2] == -std::numeric_limits<double>::infinity());
  CHECK(to_doubles(paths)[2] == -1);
  const auto [empty, none] = ops::ctc_decode(ops::zeros({0, 3, 2}), ops::zeros({0}, DType::Int32));
  CHECK(empty.shape() == Shape{1, 0, 3});
  CHECK(none.shape() == Shape{0, 1});
  const auto [silent, certain] = ops::ctc_decode(
      random_tensor({1, 3, 4}), Tensor::from<int32_t>({0}), {.strategy = "beam_search"});
  check_values(silent, {1, 1, 3}, {-1, -1, -1});
  check_values(certain, {1, 1}, {0});
}

TEST_CASE("what CTC refuses") {
  const Tensor labels = ops::ones({2, 3}, DType::Int32), logits = ops::zeros({2, 5, 4});
  const Tensor counts = ops::ones({2}, DType::Int32);
  CHECK(refused([&] { ops::ctc_loss(labels[0], logits, counts, counts); }) ==
        "ctc_loss: expected a target of shape (batch, length), got (3,).");
  CHECK(refused([&] { ops::ctc_loss(labels, logits[0], counts, counts); }) ==
        "ctc_loss: expected an output of shape (batch, steps, classes), logits, got (5, 4).");
  CHECK(refused([&] { ops::ctc_loss(labels, logits, ops::ones({3}), counts); }) ==
        "ctc_loss: expected as many targets, target_lengths and output_lengths (batch,) as "
        "outputs, got (2, 3), (3,), (2,) and (2, 5, 4).");
  CHECK(refused([&] { ops::ctc_loss(labels, logits, counts, counts, 4); }) ==
        "ctc_loss: expected a mask_index in [-4, 4), got 4.");
  CHECK(message_of<OutOfRange>([&] {
          ops::ctc_loss(labels * 4, logits, counts, counts);
        }).starts_with("take_along_axis: index 4 is outside of"));
  CHECK(refused([&] { ops::ctc_decode(logits, ops::ones({3})); }) ==
        "ctc_decode: expected inputs of shape (batch, steps, classes), none of them empty, and "
        "sequence_lengths (batch,), got (2, 5, 4) and (3,).");
  CHECK(refused([&] { ops::ctc_decode(logits, counts, {.strategy = "beam"}); }) ==
        "ctc_decode: unknown strategy 'beam'. Known: greedy, beam_search.");
  CHECK(refused([&] {
          ops::ctc_decode(logits, counts,
                          {.strategy = "beam_search", .beam_width = 2, .top_paths = 3});
        }) ==
        "ctc_decode: expected a beam_width in [1, 10000], and at most as many top_paths, from 1, "
        "got 2 and 3.");
  CHECK(refused([&] {
          ops::ctc_decode(ops::zeros({2, 5, 1}), counts, {.strategy = "beam_search"});
        }) ==
        "ctc_decode: expected at least one class besides that of blanks, got shape (2, 5, 1).");
  CHECK(refused([&] { ops::ctc_decode(logits, counts, {.mask_index = -5}); }) ==
        "ctc_decode: expected a mask_index in [-4, 4), got -5.");
}

TEST_CASE("rearrange") {
  check_gradients(
      [](const Inputs& in) {
        return ops::rearrange(in[0], "b (h x) c -> (b x) c h", {{"x", 2}});
      },
      {random_tensor({2, 4, 3})});
  const Tensor x = ops::ones({2, 6});
  const char* wrong =
      "rearrange: expected a pattern such as \"b (h1 h) c -> (b h1) h c\", in which "
      "both sides have the same axes, each once, got ";
  const std::pair<const char*, const char*> patterns[] = {
      {"a b", "there is no \"->\"."},
      {"a b -> a", "the sides differ."},
      {"a a -> a a", "'a' comes twice."},
      {"a (b -> a b", "a parenthesis isn't closed."},
      {"a b -> a b ...", "'.' isn't expected there."},
      {"a ((b)) -> a b", "'(' isn't expected there."},
      {"a () -> a", "there is nothing between parentheses."},
  };
  for (const auto& entry : patterns) {
    CHECK(refused([&] { ops::rearrange(x, entry.first); }) ==
          fmt::format("{}\"{}\": {}", wrong, entry.first, entry.second));
  }
  CHECK(refused([&] { ops::rearrange(x, "a -> a"); }) ==
        "rearrange: expected a tensor of 1 axes for \"a -> a\", got shape (2, 6).");
  CHECK(refused([&] { ops::rearrange(x, "a (b c) -> a b c"); }) ==
        "rearrange: expected a size for 'b' or 'c', parts of one axis.");
  CHECK(
      refused([&] {
        ops::rearrange(x, "a (b c) -> a b c", {{"b", 4}});
      }) ==
      "rearrange: expected axis 1 of shape (2, 6) to have the parts (b c), whose known sizes make "
      "4.");
  CHECK(refused([&] {
          ops::rearrange(x, "a b -> b a", {{"c", 4}});
        }) == "rearrange: expected sizes of axes in \"a b -> b a\", got 4 for 'c'.");
  CHECK(refused([&] {
          ops::rearrange(x, "a b -> b a", {{"a", 0}});
        }) == "rearrange: expected sizes of at least 1, got 0 for 'a'.");
}

template <class T>
void check_next(const std::vector<T>& values) {
  std::vector<T> from, towards, expected;
  for (const T a : values) {
    for (const T b : values) {
      from.push_back(a);
      towards.push_back(b);
      expected.push_back(std::nextafter(a, b));
    }
  }
  const Tensor x = Tensor::from(from), y = Tensor::from(towards);
  const Tensor next =
      check_compiled([](const Inputs& in) { return ops::nextafter(in[0], in[1]); }, {x, y}, 0);
  const std::vector<T> found = next.to_vector<T>();
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(from[i]);
    CAPTURE(towards[i]);
    CHECK((found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))));
  }
}

// For 16-bit floats, the next number has the next bits.
template <class T>
void check_next_of_halves() {
  std::vector<float> from, up;
  for (uint32_t bits = 0; bits < 0x7bff; bits += 13) {
    T number, next;
    number.bits = static_cast<uint16_t>(bits);
    next.bits = static_cast<uint16_t>(bits + 1);
    if (std::isnan(float(next)) || std::isinf(float(number))) break;
    from.push_back(number);
    up.push_back(next);
  }
  const DType dtype = DTypeOf<T>::value;
  const Tensor low = ops::cast(Tensor::from(from), dtype),
               high = ops::cast(Tensor::from(up), dtype);
  check_same(ops::nextafter(low, high), high);
  check_same(ops::nextafter(high, low), low);
  check_same(ops::nextafter(-low, -high), -high);
}

TEST_CASE("nextafter gives the neighbours of each dtype") {
  using Floats = std::numeric_limits<float>;
  using Doubles = std::numeric_limits<double>;
  check_next<float>({0, 1, -1, 3.5F, 1e-40F, -1e-40F, Floats::min(), Floats::max(),
                     Floats::lowest(), Floats::infinity(), Floats::denorm_min(),
                     Floats::quiet_NaN()});
  check_next<double>({0, 1, -1, 3.5, 1e-310, Doubles::min(), Doubles::max(), Doubles::infinity(),
                      -Doubles::denorm_min(), Doubles::quiet_NaN()});
  check_next_of_halves<float16>();
  check_next_of_halves<bfloat16>();
  CHECK(ops::nextafter(Tensor::from<int32_t>({1}), Tensor::from<int32_t>({2})).dtype() ==
        DType::Float32);
  check_gradients([](const Inputs& in) { return ops::nextafter(in[0], 5.0) * in[0]; },
                  {random_tensor({4})});
}

TEST_CASE("view") {
  const Tensor x = Tensor::from<float>({1, -2, 3, 4}, {2, 2});
  check_same(ops::view(ops::view(x, DType::UInt8), DType::Float32), x);
  CHECK(ops::view(x, DType::Int64).shape() == Shape{2, 1});
  CHECK(ops::view(x[0][0], DType::UInt32).item<int64_t>() == 0x3f800000);
  CHECK(refused([&] { ops::view(x, DType::Bool); }) ==
        "view: expected dtypes of numbers, got float32 to be seen as bool. Cast bools instead, for "
        "example with ops::cast(x, DType::UInt8).");
  CHECK(refused([&] {
          ops::view(ops::ones({2, 3}), DType::Float64);
        }) ==
        "view: expected a last axis whose bytes are a whole number of float64, got float32 of "
        "shape (2, 3).");
  CHECK(
      refused([&] { ops::view(x[0][0], DType::UInt8); }).starts_with("view: expected a last axis"));
}

TEST_CASE("i0: by the standard library, and its gradients") {
  std::vector<double> at, expected;
  for (double x = 0; x < 60; x += 0.37) {
    at.push_back(x);
    expected.push_back(std::cyl_bessel_i(0.0, x));
  }
  const Tensor x = Tensor::from(at);
  const Tensor ratio = check_compiled([](const Inputs& in) { return ops::i0(in[0]); }, {x}, 1e-12) /
                       Tensor::from(expected);
  check_values(ratio, x.shape(), std::vector<double>(at.size(), 1), 1e-13);
  check_same(ops::i0(-x), ops::i0(x));
  check_gradients([](const Inputs& in) { return ops::i0(in[0]); },
                  {Tensor::from<double>({0, 0.5, -2, 4})}, {.tolerance = 1e-5});
  check_gradients([](const Inputs& in) { return ops::i0(in[0]) * 1e-9; },
                  {Tensor::from<double>({-18.5, 18, 20, 21})}, {.tolerance = 1e-5});
}

}  // namespace
}  // namespace cornu::testing

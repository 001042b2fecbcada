// SPDX-License-Identifier: Apache-2.0
#include "tests/guides/guide.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/golden/golden.h"

namespace cornu::guides {
namespace {

// MurmurHash3's finalizer, applied to a position.
uint32_t hash(uint32_t place, uint32_t seed) {
  uint32_t h = place + seed * 0x9E3779B9u;
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ (h >> 16);
}

std::string numbers_differ(const std::vector<double>& ours, const Json& expected,
                           const Closeness& close) {
  if (ours.size() != expected.size()) {
    return fmt::format("{} numbers instead of {}", ours.size(), expected.size());
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    const double wanted = test::golden_number(expected[i]);
    if (!(std::abs(ours[i] - wanted) <= close.absolute + close.relative * std::abs(wanted))) {
      return fmt::format("number {}: {:.9g} instead of {:.9g}", i, ours[i], wanted);
    }
  }
  return "";
}

std::string sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string sorted_keys(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.as_object()) keys.push_back(key);
  return sorted(keys);
}

}  // namespace

Tensor values(const Shape& shape, uint32_t seed, double scale) {
  Tensor result = Tensor::empty(shape, DType::Float32);
  uint32_t place = 0;
  for (float& value : result.mutable_data<float>()) {
    const double unit = static_cast<double>(hash(place++, seed) >> 8) * 0x1p-23 - 1.0;
    value = static_cast<float>(unit * scale);
  }
  return result;
}

Tensor positive(const Shape& shape, uint32_t seed) { return (values(shape, seed) + 1) / 2; }

Tensor labels(int64_t count, int64_t classes, uint32_t seed) {
  Tensor result = Tensor::empty({count}, DType::Int32);
  uint32_t place = 0;
  for (int32_t& label : result.mutable_data<int32_t>()) {
    label = static_cast<int32_t>(hash(place++, seed) % static_cast<uint32_t>(classes));
  }
  return result;
}

void initialize(const std::vector<Variable>& weights, uint32_t seed) {
  for (const Variable& weight : weights) {
    const Shape& shape = weight.shape();
    if (shape.rank() > 1) {
      const auto fan_in = static_cast<double>(shape.slice(0, shape.rank() - 1).num_elements());
      weight.assign(values(shape, seed, std::sqrt(3.0 / fan_in)));
    } else if (weight.name() == "gamma" || weight.name() == "moving_variance") {
      weight.assign(values(shape, seed, 0.25) + 1);
    } else {
      weight.assign(values(shape, seed, 0.125));
    }
    ++seed;
  }
}

std::string summary(Model& model, SummaryOptions options) {
  std::string result;
  options.print_fn = [&](const std::string& part) { result += part; };
  setenv("COLUMNS", "80", 1);
  model.summary(options);
  return result;
}

Golden::Golden(const std::string& program, const Closeness& close)
    : program_(program),
      figures_(test::golden_case(test::golden_cases("guides"), program)),
      close_(close) {
  clear_session();  // resets names, as in a new process
}

const Json& Golden::expected(const std::string& name) const { return figures_.at(name); }

void Golden::check(const std::string& name, const Json& ours) const {
  INFO(program_ << ": " << name);
  if (ours.is_number()) {
    CHECK(numbers_differ({ours.as_double()}, Json::array({expected(name)}), close_) == "");
  } else {
    CHECK(test::difference(ours, expected(name)) == "");
  }
}

void Golden::check(const std::string& name, const Tensor& ours) const {
  INFO(program_ << ": " << name);
  CHECK(test::difference(ours, expected(name), {close_.relative, close_.absolute}) == "");
}

void Golden::check(const std::string& name, const std::vector<double>& ours) const {
  INFO(program_ << ": " << name);
  CHECK(numbers_differ(ours, expected(name), close_) == "");
}

void Golden::check(const std::string& name, const std::vector<std::string>& ours) const {
  Json list = Json::array();
  for (const std::string& text : ours) list.push_back(text);
  check(name, list);
}

void Golden::check(const std::string& name, const Logs& ours) const {
  INFO(program_ << ": " << name);
  REQUIRE(sorted(ours.names()) == sorted_keys(expected(name)));
  for (const auto& [key, value] : ours) {
    const std::string figure = key;
    INFO(figure);
    CHECK(numbers_differ({value}, Json::array({expected(name).at(figure)}), close_) == "");
  }
}

void Golden::check(const std::string& name, const History& ours) const {
  INFO(program_ << ": " << name);
  REQUIRE(sorted(ours.names()) == sorted_keys(expected(name)));
  for (const auto& [key, column] : ours) {
    const std::string figure = key;
    INFO(figure);
    CHECK(numbers_differ(column, expected(name).at(figure), close_) == "");
  }
}

std::vector<std::string> paths_of(const std::vector<Variable>& weights) {
  std::vector<std::string> paths;
  for (const Variable& weight : weights) paths.push_back(weight.path());
  return paths;
}

std::string keras_file(const std::string& name) {
  return std::string(std::getenv("CORNU_TEST_DATA")) + "/guides/" + name;
}

}  // namespace cornu::guides

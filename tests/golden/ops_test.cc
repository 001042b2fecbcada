// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "framework/graph/function.h"
#include "tests/golden/op_calls.h"

using namespace cornu;
using namespace cornu::test;  // NOLINT

namespace {

Op reduction(Tensor (*f)(const Tensor&, const Axes&, bool)) {
  return [f](const Call& c) { return List{f(c.in[0], c.axes(), c.flag("keepdims"))}; };
}
Op running(Tensor (*f)(const Tensor&, std::optional<int64_t>, std::optional<DTypeLike>)) {
  return [f](const Call& c) { return List{f(c.in[0], c.axis(), c.dtype())}; };
}
Op quantiles(Tensor (*f)(const Tensor&, const Tensor&, const ops::QuantileOptions&)) {
  return [f](const Call& c) {
    return List{f(
        c.in[0], c.in[1],
        {.axis = c.axes(), .method = c.text("method", "linear"), .keepdims = c.flag("keepdims")})};
  };
}
Op segments(Tensor (*f)(const Tensor&, const Tensor&, int64_t)) {
  return [f](const Call& c) { return List{f(c.in[0], c.in[1], c.integer("num_segments", 0))}; };
}
Op window(Tensor (*f)(int64_t)) {
  return [f](const Call& c) { return List{f(c.integer("x", 0))}; };
}
Op stacked(Tensor (*f)(const List&)) {
  return [f](const Call& c) { return List{f(c.in)}; };
}
Op parts(List (*f)(const Tensor&, int64_t)) {
  return [f](const Call& c) { return f(c.in[0], c.integer("indices_or_sections", 0)); };
}

void add_elementwise(Table& table) {
  table.insert({
      {"trunc", unary(ops::trunc)},
      {"fabs", unary(ops::fabs)},
      {"exp2", unary(ops::exp2)},
      {"cbrt", unary(ops::cbrt)},
      {"deg2rad", unary(ops::deg2rad)},
      {"rad2deg", unary(ops::rad2deg)},
      {"arcsinh", unary(ops::arcsinh)},
      {"arccosh", unary(ops::arccosh)},
      {"arctanh", unary(ops::arctanh)},
      {"erfc", unary(ops::erfc)},
      {"sinc", unary(ops::sinc)},
      {"i0", unary(ops::i0)},
      {"signbit", unary(ops::signbit)},
      {"isposinf", unary(ops::isposinf)},
      {"isneginf", unary(ops::isneginf)},
      {"swish", unary(ops::swish)},
      {"hard_swish", unary(ops::hard_swish)},
      {"bitwise_not", unary(ops::bitwise_not)},
      {"bitwise_invert", unary(ops::bitwise_invert)},
      {"zeros_like", [](const Call& c) { return List{ops::empty_like(c.in[0])}; }},
      {"hypot", binary(ops::hypot)},
      {"nextafter", binary(ops::nextafter)},
      {"logaddexp2", binary(ops::logaddexp2)},
      {"ldexp", binary(ops::ldexp)},
      {"fmod", binary(ops::fmod)},
      {"heaviside", binary(ops::heaviside)},
      {"fmax", binary(ops::fmax)},
      {"fmin", binary(ops::fmin)},
      {"bitwise_and", binary(ops::bitwise_and)},
      {"bitwise_or", binary(ops::bitwise_or)},
      {"bitwise_xor", binary(ops::bitwise_xor)},
      {"left_shift", binary(ops::left_shift)},
      {"right_shift", binary(ops::right_shift)},
      {"bitwise_left_shift", binary(ops::bitwise_left_shift)},
      {"bitwise_right_shift", binary(ops::bitwise_right_shift)},
  });
  table["nan_to_num"] = [](const Call& c) {
    ops::NanToNumOptions options{.nan = c.number("nan", 0)};
    if (c.find("posinf")) options.posinf = c.number("posinf", 0);
    if (c.find("neginf")) options.neginf = c.number("neginf", 0);
    return List{ops::nan_to_num(c.in[0], options)};
  };
  auto close = [](const Call& c) {
    return ops::CloseOptions{.rtol = c.number("rtol", 1e-5),
                             .atol = c.number("atol", 1e-8),
                             .equal_nan = c.flag("equal_nan")};
  };
  table["isclose"] = [=](const Call& c) { return List{ops::isclose(c.in[0], c.in[1], close(c))}; };
  table["allclose"] = [=](const Call& c) {
    return List{ops::allclose(c.in[0], c.in[1], close(c))};
  };
  table["saturate_cast"] = [](const Call& c) {
    return List{ops::saturate_cast(c.in[0], *c.dtype())};
  };
}

void add_creation(Table& table) {
  auto space = [](const Call& c) {
    return ops::SpaceOptions{
        .endpoint = c.flag("endpoint", true), .dtype = c.dtype(), .axis = c.integer("axis", 0)};
  };
  table.insert({
      {"bartlett", window(ops::bartlett)},
      {"blackman", window(ops::blackman)},
      {"hamming", window(ops::hamming)},
      {"hanning", window(ops::hanning)},
  });
  table["linspace"] = [=](const Call& c) {
    return List{ops::linspace(c.in[0], c.in[1], c.integer("num", 50), space(c))};
  };
  table["geomspace"] = [=](const Call& c) {
    return List{ops::geomspace(c.in[0], c.in[1], c.integer("num", 50), space(c))};
  };
  table["logspace"] = [](const Call& c) {
    return List{
        ops::logspace(c.in[0], c.in[1], c.integer("num", 50),
                      {.endpoint = c.flag("endpoint", true), .base = c.number("base", 10)})};
  };
  table["tri"] = [](const Call& c) {
    ops::TriOptions options{.k = c.integer("k", 0), .dtype = c.dtype().value_or(DType::Float32)};
    if (c.find("M")) options.m = c.integer("M", 0);
    return List{ops::tri(c.integer("N", 0), options)};
  };
  table["identity"] = [](const Call& c) {
    return List{ops::identity(c.integer("n", 0), *c.dtype())};
  };
  table["meshgrid"] = [](const Call& c) { return ops::meshgrid(c.in, c.text("indexing", "xy")); };
  table["vander"] = [](const Call& c) {
    const auto n = c.find("N") ? std::optional(c.integer("N", 0)) : std::nullopt;
    return List{ops::vander(c.in[0], n, c.flag("increasing"))};
  };
}

void add_rearrangements(Table& table) {
  table.insert({
      {"fliplr", unary(ops::fliplr)},
      {"flipud", unary(ops::flipud)},
      {"hstack", stacked(ops::hstack)},
      {"vstack", stacked(ops::vstack)},
      {"dstack", stacked(ops::dstack)},
      {"hsplit", parts(ops::hsplit)},
      {"vsplit", parts(ops::vsplit)},
      {"dsplit", parts(ops::dsplit)},
  });
  table["array_split"] = [](const Call& c) {
    return ops::array_split(c.in[0], c.integer("indices_or_sections", 1));
  };
  table["roll"] = [](const Call& c) { return List{ops::roll(c.in[0], c.axes("shift"), c.axes())}; };
  table["rot90"] = [](const Call& c) {
    const auto axes = c.find("axes") ? c.integers("axes") : std::vector<int64_t>{0, 1};
    return List{ops::rot90(c.in[0], c.integer("k", 1), {axes[0], axes[1]})};
  };
  table["append"] = [](const Call& c) { return List{ops::append(c.in[0], c.in[1], c.axis())}; };
  table["moveaxis"] = [](const Call& c) {
    return List{ops::moveaxis(c.in[0], c.integers("source"), c.integers("destination"))};
  };
  table["unravel_index"] = [](const Call& c) {
    return ops::unravel_index(c.in[0], Shape(c.integers("shape")));
  };
  table["depth_to_space"] = [](const Call& c) {
    return List{ops::depth_to_space(c.in[0], c.integer("block_size", 0))};
  };
  table["space_to_depth"] = [](const Call& c) {
    return List{ops::space_to_depth(c.in[0], c.integer("block_size", 0))};
  };
  table["slice"] = [](const Call& c) {
    return List{ops::slice(c.in[0], c.integers("start_indices"), c.integers("shape"))};
  };
  table["slice_update"] = [](const Call& c) {
    return List{ops::slice_update(c.in[0], c.integers("start_indices"), c.in[1])};
  };
  table["scatter"] = [](const Call& c) {
    return List{ops::scatter(c.in[0], c.in[1], Shape(c.integers("shape")))};
  };
  table["scatter_update"] = [](const Call& c) {
    return List{ops::scatter_update(c.in[0], c.in[1], c.in[2], c.text("reduction", ""))};
  };
  table["multi_hot"] = [](const Call& c) {
    return List{ops::multi_hot(c.in[0], c.integer("num_classes", 0))};
  };
  table["one_hot"] = [](const Call& c) {
    return List{ops::one_hot(c.in[0], c.integer("num_classes", 0))};
  };
}

void add_statistics(Table& table) {
  table.insert({
      {"median", reduction(ops::median)},
      {"nanmedian", reduction(ops::nanmedian)},
      {"ptp", reduction(ops::ptp)},
      {"amax", reduction(ops::amax)},
      {"amin", reduction(ops::amin)},
      {"nansum", reduction(ops::nansum)},
      {"nanprod", reduction(ops::nanprod)},
      {"nanmax", reduction(ops::nanmax)},
      {"nanmin", reduction(ops::nanmin)},
      {"nanmean", reduction(ops::nanmean)},
      {"nanvar", reduction(ops::nanvar)},
      {"nanstd", reduction(ops::nanstd)},
      {"quantile", quantiles(ops::quantile)},
      {"percentile", quantiles(ops::percentile)},
      {"nanquantile", quantiles(ops::nanquantile)},
      {"nanpercentile", quantiles(ops::nanpercentile)},
      {"cumprod", running(ops::cumprod)},
      {"nancumsum", running(ops::nancumsum)},
      {"nancumprod", running(ops::nancumprod)},
      {"corrcoef", unary(ops::corrcoef)},
      {"digitize", binary(ops::digitize)},
      {"segment_max", segments(ops::segment_max)},
      {"segment_min", segments(ops::segment_min)},
      {"segment_prod", segments(ops::segment_prod)},
  });
  table["nanargmax"] = [](const Call& c) { return List{ops::nanargmax(c.in[0], c.axis())}; };
  table["nanargmin"] = [](const Call& c) { return List{ops::nanargmin(c.in[0], c.axis())}; };
  table["average"] = [](const Call& c) {
    return List{ops::average(c.in[0], c.axes(), c.in.size() > 1 ? c.in[1] : Tensor())};
  };
  table["histogram"] = [](const Call& c) {
    ops::HistogramOptions options{.bins = c.integer("bins", 10)};
    if (c.find("range")) {
      const auto range = c.integers("range");
      options.range = {static_cast<double>(range[0]), static_cast<double>(range[1])};
    }
    return both(ops::histogram(c.in[0], options));
  };
  table["bincount"] = [](const Call& c) {
    return List{
        ops::bincount(c.in[0], c.in.size() > 1 ? c.in[1] : Tensor(), c.integer("minlength", 0))};
  };
  table["searchsorted"] = [](const Call& c) {
    return List{ops::searchsorted(c.in[0], c.in[1], c.text("side", "left"))};
  };
  table["diff"] = [](const Call& c) {
    return List{ops::diff(c.in[0], c.integer("n", 1), c.integer("axis", -1))};
  };
  table["trapezoid"] = [](const Call& c) {
    return List{ops::trapezoid(c.in[0], {.x = c.in.size() > 1 ? c.in[1] : Tensor(),
                                         .dx = c.number("dx", 1),
                                         .axis = c.integer("axis", -1)})};
  };
  table["nonzero"] = [](const Call& c) { return ops::nonzero(c.in[0]); };
  table["isin"] = [](const Call& c) {
    return List{ops::isin(c.in[0], c.in[1], false, c.flag("invert"))};
  };
  table["unique"] = [](const Call& c) {
    ops::UniqueOptions options{.sorted = c.flag("sorted", true),
                               .return_index = c.flag("return_index"),
                               .return_inverse = c.flag("return_inverse"),
                               .return_counts = c.flag("return_counts"),
                               .axis = c.axis(),
                               .fill_value = c.number("fill_value", 0)};
    if (c.find("size")) options.size = c.integer("size", 0);
    const ops::UniqueResult result = ops::unique(c.in[0], options);
    List outputs = {result.values};
    for (const Tensor& other : {result.index, result.inverse, result.counts}) {
      if (other.defined()) outputs.push_back(other);
    }
    return outputs;
  };
}

void add_matrices(Table& table) {
  table.insert({
      {"inner", binary(ops::inner)},
      {"vdot", binary(ops::vdot)},
      {"kron", binary(ops::kron)},
      {"det", unary(ops::det)},
      {"logdet", unary(ops::logdet)},
      {"inv", unary(ops::inv)},
      {"solve", binary(ops::solve)},
  });
  auto diagonals = [](const Call& c) {
    return ops::DiagonalOptions{.offset = c.integer("offset", 0),
                                .axis1 = c.integer("axis1", 0),
                                .axis2 = c.integer("axis2", 1)};
  };
  table["diagonal"] = [=](const Call& c) { return List{ops::diagonal(c.in[0], diagonals(c))}; };
  table["trace"] = [=](const Call& c) { return List{ops::trace(c.in[0], diagonals(c))}; };
  table["diag"] = [](const Call& c) { return List{ops::diag(c.in[0], c.integer("k", 0))}; };
  table["diagflat"] = [](const Call& c) { return List{ops::diagflat(c.in[0], c.integer("k", 0))}; };
  table["tril"] = [](const Call& c) { return List{ops::tril(c.in[0], c.integer("k", 0))}; };
  table["triu"] = [](const Call& c) { return List{ops::triu(c.in[0], c.integer("k", 0))}; };
  table["cross"] = [](const Call& c) {
    return List{ops::cross(c.in[0], c.in[1],
                           {.axisa = c.integer("axisa", -1),
                            .axisb = c.integer("axisb", -1),
                            .axisc = c.integer("axisc", -1)})};
  };
  table["einsum"] = [](const Call& c) { return List{ops::einsum(c.text("subscripts", ""), c.in)}; };
  table["slogdet"] = [](const Call& c) { return both(ops::slogdet(c.in[0])); };
  table["lu_factor"] = [](const Call& c) { return both(ops::lu_factor(c.in[0])); };
  table["cholesky"] = [](const Call& c) { return List{ops::cholesky(c.in[0], c.flag("upper"))}; };
  table["cholesky_inverse"] = [](const Call& c) { return List{ops::cholesky_inverse(c.in[0])}; };
  table["solve_triangular"] = [](const Call& c) {
    return List{ops::solve_triangular(c.in[0], c.in[1], c.flag("lower"))};
  };
  table["svd"] = [](const Call& c) { return List{ops::svd(c.in[0], true, false).s}; };
  table["matrix_rank"] = [](const Call& c) { return List{ops::matrix_rank(c.in[0])}; };
  table["pinv"] = [](const Call& c) { return List{ops::pinv(c.in[0])}; };
  table["lstsq"] = [](const Call& c) { return List{ops::lstsq(c.in[0], c.in[1])}; };
  table["norm"] = [](const Call& c) {
    ops::NormOptions options{.axis = c.axes(), .keepdims = c.flag("keepdims")};
    const std::string order = c.find("ord") && c.find("ord")->is_string() ? c.text("ord", "") : "";
    if (order == "fro" || order == "nuc") {
      options.name = order;
    } else if (c.find("ord")) {
      options.ord = c.number("ord", 2);
    }
    return List{ops::norm(c.in[0], options)};
  };
}

void add_transforms(Table& table) {
  auto transform = [](ops::RealAndImaginary (*f)(const ops::RealAndImaginary&)) {
    return [f](const Call& c) { return both(f({c.in[0], c.in[1]})); };
  };
  auto length = [](const Call& c, const char* name) {
    return c.find(name) ? std::optional(c.integer(name, 0)) : std::nullopt;
  };
  auto framed = [](const Call& c) {
    ops::StftOptions options{.center = c.flag("center", true)};
    if (const Json* window = c.arguments.find("window")) {
      options.window = window->is_null() ? std::nullopt : std::optional(window->as_string());
    }
    return options;
  };
  table.insert({
      {"fft", transform(ops::fft)},
      {"fft2", transform(ops::fft2)},
      {"ifft2", transform(ops::ifft2)},
  });
  table["rfft"] = [=](const Call& c) { return both(ops::rfft(c.in[0], length(c, "fft_length"))); };
  table["irfft"] = [=](const Call& c) {
    return List{ops::irfft({c.in[0], c.in[1]}, length(c, "fft_length"))};
  };
  table["stft"] = [=](const Call& c) {
    return both(ops::stft(c.in[0], c.integer("sequence_length", 0), c.integer("sequence_stride", 0),
                          c.integer("fft_length", 0), framed(c)));
  };
  table["istft"] = [=](const Call& c) {
    return List{ops::istft({c.in[0], c.in[1]}, c.integer("sequence_length", 0),
                           c.integer("sequence_stride", 0), c.integer("fft_length", 0),
                           length(c, "length"), framed(c))};
  };
  table["extract_sequences"] = [](const Call& c) {
    return List{ops::extract_sequences(c.in[0], c.integer("sequence_length", 0),
                                       c.integer("sequence_stride", 0))};
  };
}

void add_blocks(Table& table) {
  auto folding = [](const Call& c) {
    return ops::FoldOptions{.dilation = sizes_of(c, "dilation", 1),
                            .padding = sizes_of(c, "padding", 0),
                            .stride = sizes_of(c, "stride", 1)};
  };
  table["unfold"] = [=](const Call& c) {
    return List{ops::unfold(c.in[0], sizes_of(c, "kernel_size", {}), folding(c))};
  };
  table["fold"] = [=](const Call& c) {
    return List{ops::fold(c.in[0], sizes_of(c, "output_size", {}), sizes_of(c, "kernel_size", {}),
                          folding(c))};
  };
  table["kaiser"] = [](const Call& c) {
    return List{ops::kaiser(c.integer("x", 0), c.number("beta", 0))};
  };
  table["psnr"] = [](const Call& c) {
    return List{ops::psnr(c.in[0], c.in[1], c.number("max_val", 1))};
  };
  table["correlate"] = [](const Call& c) {
    return List{ops::correlate(c.in[0], c.in[1], c.text("mode", "valid"))};
  };
  table["cdist"] = binary(ops::cdist);
  table["gcd"] = binary(ops::gcd);
  table["lcm"] = binary(ops::lcm);
}

void add_sequences(Table& table) {
  table["ctc_loss"] = [](const Call& c) {
    return List{ops::ctc_loss(c.in[0], c.in[1], c.in[2], c.in[3], c.integer("mask_index", 0))};
  };
  table["ctc_decode"] = [](const Call& c) {
    return both(ops::ctc_decode(c.in[0], c.in[1],
                                {.strategy = c.text("strategy", "greedy"),
                                 .beam_width = c.integer("beam_width", 100),
                                 .top_paths = c.integer("top_paths", 1),
                                 .merge_repeated = c.flag("merge_repeated", true),
                                 .mask_index = c.integer("mask_index", 0)}));
  };
  table["rearrange"] = [](const Call& c) {
    std::map<std::string, int64_t> sizes;
    if (const Json* given = c.find("sizes")) {
      for (const auto& [name, size] : given->as_object()) sizes[name] = size.as_int();
    }
    return List{ops::rearrange(c.in[0], c.text("pattern", ""), sizes)};
  };
  table["view"] = [](const Call& c) {
    return List{c.dtype() ? ops::view(c.in[0], *c.dtype()) : ops::view(c.in[0])};
  };
}

// Functions whose arguments may be None or lists instead of numbers.
void add_several_axes(Table& table) {
  auto extreme = [](auto of_all, auto with_initial) {
    return [=](const Call& c) {
      if (!c.find("initial")) return List{of_all(c.in[0], c.axes(), false)};
      return List{with_initial(c.in[0], c.axes(), false, Tensor(c.number("initial", 0)))};
    };
  };
  using All = Tensor (*)(const Tensor&, const Axes&, bool);
  using Initial = Tensor (*)(const Tensor&, const Axes&, bool, const Tensor&);
  table["max"] = extreme(All{ops::max}, Initial{ops::max});
  table["min"] = extreme(All{ops::min}, Initial{ops::min});
  table["matmul"] = [](const Call& c) { return List{ops::matmul(c.in[0], c.in[1])}; };
  table["moments"] = [](const Call& c) {
    return both(ops::moments(c.in[0], c.axes("axes"), c.flag("keepdims")));
  };
  table["softmax"] = [](const Call& c) { return List{ops::softmax(c.in[0], c.axes())}; };
  table["log_softmax"] = [](const Call& c) { return List{ops::log_softmax(c.in[0], c.axes())}; };
  table["argsort"] = [](const Call& c) { return List{ops::argsort(c.in[0], c.axis())}; };
}

const Table& table() {
  static const Table made = [] {
    Table result;
    add_elementwise(result);
    add_creation(result);
    add_rearrangements(result);
    add_statistics(result);
    add_matrices(result);
    add_image_ops(result);
    add_transforms(result);
    add_blocks(result);
    add_sequences(result);
    add_several_axes(result);
    return result;
  }();
  return made;
}

constexpr Tolerance kClose = {.relative = 1e-5, .absolute = 2e-6};

}  // namespace

TEST_CASE("ops have Keras's values and dtypes, eagerly and compiled") {
  // The shapes of their results depend on values.
  const std::vector<std::string> eager_only = {"bincount", "nonzero", "unique"};
  for (const Json& item : golden_cases("ops").as_array()) {
    CAPTURE(item.at("name").as_string());
    const std::string name = item.at("op").as_string();
    const auto found = table().find(name);
    REQUIRE(found != table().end());
    List inputs;
    for (const Json& input : item.at("inputs").as_array()) inputs.push_back(golden_tensor(input));
    const Json& arguments = item.at("arguments");
    check_outputs(found->second({inputs, arguments}), item.at("outputs"), kClose);
    const bool sized = arguments.find("size") != nullptr;
    if (!sized && std::count(eager_only.begin(), eager_only.end(), name) > 0) continue;
    const Function compiled([&](const List& x) { return found->second({x, arguments}); }, {});
    check_outputs(compiled.call(inputs), item.at("outputs"), kClose);
  }
}

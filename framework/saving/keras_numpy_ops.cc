// SPDX-License-Identifier: Apache-2.0
// Ops of keras.ops.numpy that are composed of others here, with the arguments of Keras's classes.

#include "framework/model/constants.h"
#include "framework/ops/ops.h"
#include "framework/saving/keras_op.h"

namespace cornu::numpy_ops {
namespace {

using C = const OpCall&;

template <Tensor (*kUnary)(const Tensor&)>
Tensors unary(C c) {
  return kUnary(c.operand(0, "x"));
}
// Arguments are named x1 and x2, or x and y; Keras passes them by position.
template <Tensor (*kBinary)(const Tensor&, const Tensor&)>
Tensors binary(C c) {
  return kBinary(c.operand(0, "x1"), c.operand(1, "x2"));
}

template <Tensor (*kReduce)(const Tensor&, const Axes&, bool)>
Tensors reduction(C c) {
  return kReduce(c.operand(0, "x"), c.axes(), c.flag("keepdims", false));
}
template <Tensor (*kPlace)(const Tensor&, std::optional<int64_t>, bool)>
Tensors place(C c) {
  return kPlace(c.operand(0, "x"), c.maybe("axis"), c.flag("keepdims", false));
}
template <Tensor (*kRunning)(const Tensor&, std::optional<int64_t>, std::optional<DTypeLike>)>
Tensors running(C c) {
  return kRunning(c.operand(0, "x"), c.maybe("axis"), c.dtype());
}
template <Tensor (*kQuantile)(const Tensor&, const Tensor&, const ops::QuantileOptions&)>
Tensors quantiles(C c) {
  return kQuantile(c.operand(0, "x"), c.operand(1, "q"),
                   {.axis = c.axes(),
                    .method = c.text("method", "linear"),
                    .keepdims = c.flag("keepdims", false)});
}
template <Tensor (*kDiagonal)(const Tensor&, int64_t)>
Tensors from_diagonal(C c) {
  return kDiagonal(c.operand(0, "x"), c.integer("k", 0));
}
template <Tensor (*kStacked)(const std::vector<Tensor>&)>
Tensors stacked(C c) {
  return kStacked(c.list(0, "xs"));
}

using Parts = std::vector<Tensor>;
template <Parts (*kEqual)(const Tensor&, int64_t),
          Parts (*kAt)(const Tensor&, const std::vector<int64_t>&)>
Tensors parts(C c) {
  const Json& sections = c.need("indices_or_sections");
  const Tensor x = c.operand(0, "x");
  return sections.is_array() ? kAt(x, sections.as_ints()) : kEqual(x, sections.as_int());
}
Tensors array_split(C c) {
  const Json& sections = c.need("indices_or_sections");
  const Tensor x = c.operand(0, "x");
  const int64_t axis = c.integer("axis", 0);
  return sections.is_array() ? ops::array_split(x, sections.as_ints(), axis)
                             : ops::array_split(x, sections.as_int(), axis);
}

void add_elementwise(const ComposedOps::Module& numpy) {
  numpy.add({
      {"Fabs", unary<ops::fabs>},
      {"Arccosh", unary<ops::arccosh>},
      {"Arcsinh", unary<ops::arcsinh>},
      {"Arctanh", unary<ops::arctanh>},
      {"BitwiseInvert", unary<ops::bitwise_invert>},
      {"BitwiseNot", unary<ops::bitwise_not>},
      {"Cbrt", unary<ops::cbrt>},
      {"Copy", [](C c) -> Tensors { return c.operand(0, "x").strong(); }},
      {"Deg2rad", unary<ops::deg2rad>},
      {"Rad2deg", unary<ops::rad2deg>},
      {"Exp2", unary<ops::exp2>},
      {"I0", unary<ops::i0>},
      {"Isneginf", unary<ops::isneginf>},
      {"Isposinf", unary<ops::isposinf>},
      {"Signbit", unary<ops::signbit>},
      {"Sinc", unary<ops::sinc>},
      {"Trunc", unary<ops::trunc>},
      {"BitwiseAnd", binary<ops::bitwise_and>},
      {"BitwiseOr", binary<ops::bitwise_or>},
      {"BitwiseXor", binary<ops::bitwise_xor>},
      {"BitwiseLeftShift", binary<ops::left_shift>},
      {"LeftShift", binary<ops::left_shift>},
      {"BitwiseRightShift", binary<ops::right_shift>},
      {"RightShift", binary<ops::right_shift>},
      {"Fmax", binary<ops::fmax>},
      {"Fmin", binary<ops::fmin>},
      {"Fmod", binary<ops::fmod>},
      {"Gcd", binary<ops::gcd>},
      {"Heaviside", binary<ops::heaviside>},
      {"Hypot", binary<ops::hypot>},
      {"Lcm", binary<ops::lcm>},
      {"Ldexp", binary<ops::ldexp>},
      {"Logaddexp2", binary<ops::logaddexp2>},
      {"Nextafter", binary<ops::nextafter>},
      {"Array", [](C c) -> Tensors { return ops::array(c.operand(0, "x"), c.dtype()); }},
      {"View", [](C c) -> Tensors { return ops::view(c.operand(0, "x"), c.dtype()); }},
  });
  numpy.add("Isclose", [](C c) -> Tensors {
    const Json *rtol = c.value(2, "rtol"), *atol = c.value(3, "atol");
    return ops::isclose(c.operand(0, "x1"), c.operand(1, "x2"),
                        {.rtol = rtol ? rtol->as_double() : 1e-5,
                         .atol = atol ? atol->as_double() : 1e-8,
                         .equal_nan = c.flag("equal_nan", false)});
  });
  numpy.add("NanToNum", [](C c) -> Tensors {
    ops::NanToNumOptions options{.nan = c.number("nan", 0)};
    options.posinf = c.maybe_number("posinf");
    options.neginf = c.maybe_number("neginf");
    return ops::nan_to_num(c.operand(0, "x"), options);
  });
  numpy.add("Select", [](C c) -> Tensors {
    const Tensor otherwise = c.optional(2, "default");
    return ops::select(c.list(0, "condlist"), c.list(1, "choicelist"),
                       otherwise.defined() ? otherwise : Tensor(0));
  });
}

void add_places(const ComposedOps::Module& numpy) {
  numpy.add({
      {"Append",
       [](C c) -> Tensors {
         return ops::append(c.operand(0, "x1"), c.operand(1, "x2"), c.maybe("axis"));
       }},
      {"ArraySplit", array_split},
      {"Argpartition",
       [](C c) -> Tensors {
         return ops::argpartition(c.operand(0, "x"), c.need("kth").as_int(), c.axis_or_none(-1));
       }},
      {"Diag", from_diagonal<ops::diag>},
      {"Diagflat", from_diagonal<ops::diagflat>},
      {"Dsplit", parts<ops::dsplit, ops::dsplit>},
      {"Hsplit", parts<ops::hsplit, ops::hsplit>},
      {"Vsplit", parts<ops::vsplit, ops::vsplit>},
      {"Dstack", stacked<ops::dstack>},
      {"Hstack", stacked<ops::hstack>},
      {"Vstack", stacked<ops::vstack>},
      {"Fliplr", unary<ops::fliplr>},
      {"Flipud", unary<ops::flipud>},
      {"Meshgrid", [](C c) -> Tensors { return ops::meshgrid(c.all(), c.text("indexing", "xy")); }},
      {"Roll",
       [](C c) -> Tensors {
         return ops::roll(c.operand(0, "x"), Axes(c.integers("shift")), c.axes());
       }},
      {"Rot90",
       [](C c) -> Tensors {
         const std::vector<int64_t> axes =
             c.find("axes") ? c.integers("axes") : std::vector<int64_t>{0, 1};
         check<InvalidArgument>(axes.size() == 2, "expected two axes, got {}.", axes.size());
         return ops::rot90(c.operand(0, "array"), c.integer("k", 1), {axes[0], axes[1]});
       }},
      {"Tile", [](C c) -> Tensors { return ops::tile(c.operand(0, "x"), c.integers("repeats")); }},
      {"Tril", from_diagonal<ops::tril>},
      {"Triu", from_diagonal<ops::triu>},
      {"UnravelIndex",
       [](C c) -> Tensors {
         return ops::unravel_index(c.operand(0, "indices"), c.need("shape").as_shape());
       }},
      {"EmptyLike", [](C c) -> Tensors { return ops::empty_like(c.operand(0, "x"), c.dtype()); }},
      {"Full",
       [](C c) -> Tensors {
         return ops::full(c.need("shape").as_shape(), c.operand(0, "fill_value"), c.dtype());
       }},
  });
  numpy.add("Linspace", [](C c) -> Tensors {
    check<Unimplemented>(!c.flag("retstep", false), "retstep isn't implemented.");
    return ops::linspace(
        c.operand(0, "start"), c.operand(1, "stop"), c.integer("num", 50),
        {.endpoint = c.flag("endpoint", true), .dtype = c.dtype(), .axis = c.integer("axis", 0)});
  });
  numpy.add("Geomspace", [](C c) -> Tensors {
    return ops::geomspace(
        c.operand(0, "start"), c.operand(1, "stop"), c.integer("num", 50),
        {.endpoint = c.flag("endpoint", true), .dtype = c.dtype(), .axis = c.integer("axis", 0)});
  });
  numpy.add("Logspace", [](C c) -> Tensors {
    return ops::logspace(c.operand(0, "start"), c.operand(1, "stop"), c.integer("num", 50),
                         {.endpoint = c.flag("endpoint", true),
                          .base = c.number("base", 10),
                          .dtype = c.dtype(),
                          .axis = c.integer("axis", 0)});
  });
}

void add_statistics(const ComposedOps::Module& numpy) {
  numpy.add({
      {"Amax", reduction<ops::amax>},
      {"Amin", reduction<ops::amin>},
      {"Median", reduction<ops::median>},
      {"Nanmax", reduction<ops::nanmax>},
      {"Nanmean", reduction<ops::nanmean>},
      {"Nanmedian", reduction<ops::nanmedian>},
      {"Nanmin", reduction<ops::nanmin>},
      {"Nanprod", reduction<ops::nanprod>},
      {"Nanstd", reduction<ops::nanstd>},
      {"Nansum", reduction<ops::nansum>},
      {"Nanvar", reduction<ops::nanvar>},
      {"Ptp", reduction<ops::ptp>},
      {"Nanargmax", place<ops::nanargmax>},
      {"Nanargmin", place<ops::nanargmin>},
      {"Cumprod", running<ops::cumprod>},
      {"Nancumprod", running<ops::nancumprod>},
      {"Nancumsum", running<ops::nancumsum>},
      {"Nanpercentile", quantiles<ops::nanpercentile>},
      {"Nanquantile", quantiles<ops::nanquantile>},
      {"Percentile", quantiles<ops::percentile>},
      {"Quantile", quantiles<ops::quantile>},
      {"Corrcoef", unary<ops::corrcoef>},
      {"Average",
       [](C c) -> Tensors {
         return ops::average(c.operand(0, "x"), c.axes(), c.optional(1, "weights"));
       }},
      {"Correlate",
       [](C c) -> Tensors {
         return ops::correlate(c.operand(0, "x1"), c.operand(1, "x2"), c.text("mode", "valid"));
       }},
      {"Diff",
       [](C c) -> Tensors {
         return ops::diff(c.operand(0, "a"), c.integer("n", 1), c.integer("axis", -1));
       }},
      {"Digitize",
       [](C c) -> Tensors { return ops::digitize(c.operand(0, "x"), c.operand(1, "bins")); }},
      {"IsIn",
       [](C c) -> Tensors {
         return ops::isin(c.operand(0, "x1"), c.operand(1, "x2"), c.flag("assume_unique", false),
                          c.flag("invert", false));
       }},
      {"SearchSorted",
       [](C c) -> Tensors {
         return ops::searchsorted(c.operand(0, "sorted_sequence"), c.operand(1, "values"),
                                  c.text("side", "left"));
       }},
      {"Trapezoid",
       [](C c) -> Tensors {
         const Json* x = c.find("x");
         return ops::trapezoid(c.operand(0, "y"), {.x = x ? literal_tensor(*x) : Tensor(),
                                                   .dx = c.number("dx", 1),
                                                   .axis = c.integer("axis", -1)});
       }},
      {"Vander",
       [](C c) -> Tensors {
         return ops::vander(c.operand(0, "x"), c.maybe("N"), c.flag("increasing", false));
       }},
  });
}

void add_products(const ComposedOps::Module& numpy) {
  numpy.add({
      {"Dot", binary<ops::dot>},
      {"Inner", binary<ops::inner>},
      {"Kron", binary<ops::kron>},
      {"Outer", binary<ops::outer>},
      {"Slogdet",
       [](C c) -> Tensors {
         const auto [sign, logarithm] = ops::slogdet(c.operand(0, "x"));
         return std::vector<Tensor>{sign, logarithm};
       }},
      {"Vdot", binary<ops::vdot>},
      {"Cross",
       [](C c) -> Tensors {
         return ops::cross(c.operand(0, "x1"), c.operand(1, "x2"),
                           {.axisa = c.integer("axisa", -1),
                            .axisb = c.integer("axisb", -1),
                            .axisc = c.integer("axisc", -1),
                            .axis = c.maybe("axis")});
       }},
      {"Diagonal",
       [](C c) -> Tensors {
         return ops::diagonal(c.operand(0, "x"), {.offset = c.integer("offset", 0),
                                                  .axis1 = c.integer("axis1", 0),
                                                  .axis2 = c.integer("axis2", 1)});
       }},
      {"Trace",
       [](C c) -> Tensors {
         return ops::trace(c.operand(0, "x"), {.offset = c.integer("offset", 0),
                                               .axis1 = c.integer("axis1", 0),
                                               .axis2 = c.integer("axis2", 1)});
       }},
      {"Tensordot",
       [](C c) -> Tensors {
         const Tensor a = c.operand(0, "x1"), b = c.operand(1, "x2");
         const Json* axes = c.find("axes");
         if (!axes || !axes->is_array()) return ops::tensordot(a, b, c.integer("axes", 2));
         check<InvalidArgument>(axes->size() == 2, "expected axes of both, got {}.",
                                axes->excerpt());
         return ops::tensordot(a, b, integers_of((*axes)[0]), integers_of((*axes)[1]));
       }},
  });
}

}  // namespace

void add_to(ComposedOps& table) {
  add_elementwise(table.of("numpy"));
  add_places(table.of("numpy"));
  add_statistics(table.of("numpy"));
  add_products(table.of("numpy"));
}

}  // namespace cornu::numpy_ops

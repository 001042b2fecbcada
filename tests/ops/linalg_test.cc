// SPDX-License-Identifier: Apache-2.0
// Expected values are Keras's (tests/golden) or follow from the definition of a factorization.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/threads.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

constexpr GradientCheck kClose = {.tolerance = 2e-5};

void check_smooth(const OpFunction& f, const Inputs& inputs) {
  check_compiled(f, inputs, 1e-9);
  check_gradients(f, inputs, kClose);
}

Tensor transposed(const Tensor& x) { return ops::swapaxes(x, -1, -2); }

// Matrices far from singular.
Tensor regular(const Shape& shape, uint64_t seed = 1) {
  return random_tensor(shape, -1, 1, seed) + ops::eye(shape.back(), DType::Float64) * 3;
}

// Symmetric, with well-separated eigenvalues.
Tensor symmetric(const Tensor& x) {
  const Tensor steps = ops::arange(x.dim(-1), DType::Float64) * 4;
  return (x + transposed(x)) * 0.5 + ops::eye(x.dim(-1), DType::Float64) * steps;
}

Tensor positive(const Tensor& x) {
  return ops::matmul(x, x, {.transpose_x2 = true}) + ops::eye(x.dim(-1), DType::Float64);
}

TEST_CASE("gradients of det, slogdet, inv, solve, triangular solve") {
  const Tensor a = regular({2, 3, 3});
  check_smooth([](const Inputs& in) { return ops::det(in[0]); }, {a});
  check_smooth([](const Inputs& in) { return ops::slogdet(in[0]).second; }, {a});
  check_smooth([](const Inputs& in) { return ops::inv(in[0]); }, {a});
  check_smooth([](const Inputs& in) { return ops::solve(in[0], in[1]); },
               {a, random_tensor({2, 3, 2})});
  check_smooth([](const Inputs& in) { return ops::solve(in[0], in[1]); },
               {a, random_tensor({2, 3})});
  check_smooth([](const Inputs& in) { return ops::lu_factor(in[0]).first; }, {a});
  for (const bool lower : {false, true}) {
    check_smooth([=](const Inputs& in) { return ops::solve_triangular(in[0], in[1], lower); },
                 {a, random_tensor({2, 3, 2})});
  }
  check_smooth([](const Inputs& in) { return ops::solve(in[0], in[1]); },
               {regular({3, 3}), random_tensor({2, 3, 2})});  // one matrix for two systems
}

TEST_CASE("gradients of cholesky and eigh") {
  const Tensor x = random_tensor({2, 3, 3}, -1, 1);
  check_smooth([](const Inputs& in) { return ops::cholesky(positive(in[0])); }, {x});
  check_smooth([](const Inputs& in) { return ops::cholesky(positive(in[0]), true); }, {x});
  check_smooth([](const Inputs& in) { return ops::logdet(positive(in[0])); }, {x});
  check_smooth(
      [](const Inputs& in) { return ops::cholesky_inverse(ops::cholesky(positive(in[0]))); }, {x});
  check_smooth([](const Inputs& in) { return ops::eigh(symmetric(in[0])).first; }, {x});
  // The sign of a vector is arbitrary: squares don't depend on it.
  check_smooth([](const Inputs& in) { return ops::square(ops::eigh(symmetric(in[0])).second); },
               {x});
}

TEST_CASE("gradients of qr and svd, of any shape") {
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 2}}) {
    CAPTURE(shape);
    const Tensor x = random_tensor(shape, -1, 1, 5);
    check_smooth([](const Inputs& in) { return ops::qr(in[0]).first; }, {x});
    check_smooth([](const Inputs& in) { return ops::qr(in[0]).second; }, {x});
    check_smooth([](const Inputs& in) { return ops::svd(in[0], true, false).s; }, {x});
    // Signs cancel in products of the two sides.
    check_smooth(
        [](const Inputs& in) {
          const ops::Svd parts = ops::svd(in[0], false);
          return ops::matmul(parts.u * ops::expand_dims(ops::exp(parts.s), -2), parts.vh);
        },
        {x});
    check_smooth([](const Inputs& in) { return ops::square(ops::svd(in[0], false).u); }, {x});
    check_smooth([](const Inputs& in) { return ops::square(ops::svd(in[0], false).vh); }, {x});
  }
  check_smooth([](const Inputs& in) { return ops::pinv(in[0]); }, {random_tensor({4, 2}, -1, 1)});
  check_smooth([](const Inputs& in) { return ops::lstsq(in[0], in[1]); },
               {random_tensor({4, 2}, -1, 1), random_tensor({4})});
}

// Of the subgradients at 0, it is 0, as in PyTorch; Keras on TensorFlow returns NaN.
TEST_CASE("the gradient of a norm at 0") {
  const Tensor zero = ops::zeros({2, 2});
  const Tensor row = Tensor::from<double>({0, 3, 0, 0}, {2, 2});
  auto gradient = [](const Tensor& x, const ops::NormOptions& options) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(ops::sum(ops::norm(x, options)), x).to_vector<double>();
  };
  const std::vector<double> zeros = {0, 0, 0, 0};
  CHECK(gradient(ops::cast(zero, DType::Float64), {}) == zeros);
  CHECK(gradient(ops::cast(zero, DType::Float64), {.name = "fro"}) == zeros);
  for (const double ord : {0.5, 1.0, 2.0, 3.0}) {
    CAPTURE(ord);
    CHECK(gradient(ops::cast(zero, DType::Float64), {.ord = ord, .axis = 1}) == zeros);
    check_same(Tensor::from(gradient(row, {.ord = ord, .axis = 1})),
               Tensor::from<double>({0, 1, 0, 0}), 1e-12);
  }
}

TEST_CASE("gradients of norms") {
  const Tensor x = random_tensor({3, 4}, 0.5, 2);
  for (const double ord : {1.0, 2.0, 3.0}) {
    check_smooth([=](const Inputs& in) { return ops::norm(in[0], {.ord = ord, .axis = 1}); }, {x});
  }
  check_smooth([](const Inputs& in) { return ops::norm(in[0]); }, {x});
  check_smooth([](const Inputs& in) { return ops::norm(in[0], {.name = "nuc"}); }, {x});
}

TEST_CASE("triangles are solved for few right sides and for many") {
  for (const int64_t n : {1, 5, 70}) {
    for (const int64_t count : {1, 3, 16, 17, 40}) {
      CAPTURE(n);
      CAPTURE(count);
      const Tensor whole =
          random_tensor({2, n, n}, -0.3, 0.3, 1) + ops::eye(n, DType::Float64) * 2.0;
      const Tensor b = random_tensor({2, n, count}, -1, 1, 2);
      const Tensor upper = ops::triu(whole), lower = ops::tril(whole);
      check_same(ops::matmul(lower, ops::solve_triangular(whole, b, true)), b, 1e-10);
      check_same(ops::matmul(upper, ops::solve_triangular(whole, b, false)), b, 1e-10);
      // The systems of the gradient are transposed.
      const Tensor ones = ops::ones_like(b);
      for (const bool is_lower : {false, true}) {
        GradientTape tape;
        tape.watch(b);
        const Tensor gradient =
            tape.gradient(ops::sum(ops::solve_triangular(whole, b, is_lower)), b);
        check_same(ops::matmul(transposed(is_lower ? lower : upper), gradient), ones, 1e-10);
      }
    }
  }
}

// Returns the result of make(), which must have the same bits on 1, 2 and 3 threads.
template <class Make>
auto on_any_threads(Make make) {
  const auto result = make();
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    CHECK(make() == result);
  }
  return result;
}

TEST_CASE("cholesky of matrices of one block and of several") {
  for (const int64_t n : {1, 2, 31, 32, 33, 64, 100, 150, 230}) {
    CAPTURE(n);
    const Tensor some = random_tensor({2, n, n}, -1, 1, 5);
    const Tensor x = ops::matmul(some, transposed(some)) + ops::eye(n, DType::Float64);
    const Tensor asked = ops::tril(x) + ops::triu(ops::ones_like(x), 1);  // only tril(x) is read
    const auto values = on_any_threads([&] { return ops::cholesky(asked).to_vector<double>(); });
    const Tensor l = Tensor::from(values, {2, n, n});
    check_same(l, ops::tril(l), 0.0);
    check_same(ops::matmul(l, transposed(l)), x, 1e-9);
    const Tensor late = x - ops::diag(ops::arange(n) >= n - 1) * (x(0, n - 1, n - 1) * 2);
    CHECK(message_of<InvalidArgument>([&] { ops::cholesky(late); }) ==
          "cholesky: expected symmetric positive definite matrices, but number 0 isn't one.");
  }
}

TEST_CASE("qr of matrices of one block and of several") {
  const std::vector<Shape> shapes = {{2, 1, 1},   {2, 33, 33},  {1, 100, 40}, {1, 40, 100},
                                     {1, 97, 65}, {1, 64, 128}, {1, 200, 3}};
  for (const Shape& shape : shapes) {
    CAPTURE(shape);
    const Tensor x = random_tensor(shape, -1, 1, 6);
    for (const std::string mode : {"reduced", "complete"}) {
      const auto [q_values, r_values] = on_any_threads([&] {
        const auto [q, r] = ops::qr(x, mode);
        return std::pair(q.to_vector<double>(), r.to_vector<double>());
      });
      const auto [q, r] = ops::qr(x, mode);
      CHECK(q.to_vector<double>() == q_values);
      check_same(r, ops::triu(r), 0.0);
      check_same(ops::matmul(q, r), x, 1e-12);
      check_same(
          ops::matmul(transposed(q), q),
          ops::zeros({shape[0], 1, 1}, DType::Float64) + ops::eye(q.shape().back(), DType::Float64),
          1e-12);
    }
  }
  // Linearly dependent columns, and zero columns: LAPACK's reflections leave such a column
  // unchanged, too.
  const Tensor ones = ops::ones({40, 40}, DType::Float64);
  const auto [q, r] = ops::qr(ones);
  check_same(ops::matmul(q, r), ones, 1e-12);
  const auto [whole, none] = ops::qr(ops::zeros({40, 40}, DType::Float64));
  check_same(whole, ops::eye(40, DType::Float64), 0.0);
  check_same(none, ops::zeros({40, 40}, DType::Float64), 0.0);
  for (const double scale : {1e-200, 1e-162, 1e-161, 1e-158}) {
    const auto [basis, tiny] = ops::qr(random_tensor({40, 40}, -1, 1, 8) * scale);
    check_same(tiny, ops::triu(tiny), 0.0);
    check_same(ops::matmul(transposed(basis), basis), ops::eye(40, DType::Float64), 1e-12);
  }
}

TEST_CASE("eigh of small matrices and of larger ones") {
  for (const int64_t n : {1, 2, 33, 64, 65, 100, 230}) {
    CAPTURE(n);
    const Tensor x = symmetric(random_tensor({2, n, n}, -1, 1, 7));
    const Tensor ones = ops::ones_like(x);
    const Tensor lower = ops::tril(x) + ops::triu(ones, 1);  // only the lower part is read
    const auto [value, vector] = on_any_threads([&] {
      const auto [values, vectors] = ops::eigh(lower);
      return std::pair(values.to_vector<double>(), vectors.to_vector<double>());
    });
    const Tensor values = Tensor::from(value, {2, n}), vectors = Tensor::from(vector, {2, n, n});
    check_same(ops::matmul(x, vectors), vectors * ops::expand_dims(values, -2), 1e-11);
    check_same(ops::matmul(transposed(vectors), vectors),
               ops::zeros_like(x) + ops::eye(n, DType::Float64), 1e-12);
    check_same(values, ops::sort(values), 0.0);
    // With other magnitudes, and with equal eigenvalues.
    for (const double scale : {1e-150, 1e150}) {
      check_same(ops::eigh(x * scale).first / scale, values, 1e-12);
    }
    const auto [equal, any] = ops::eigh(ops::eye(n, DType::Float64) * 3.0);
    check_same(equal, ops::full({n}, 3.0, DType::Float64), 0.0);
    check_same(ops::eigh(ones).first(0, n - 1), Tensor::scalar(static_cast<double>(n)), 1e-12);
    check_same(ops::eigh(ops::zeros_like(x)).first, ops::zeros({2, n}, DType::Float64), 0.0);
  }
  for (const int64_t n : {64, 65, 100}) {  // magnitudes so different that rotations vanish
    const auto largest = [&](auto element) {
      std::vector<double> values(static_cast<size_t>(n * n));
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * n + j)] = element(i, j);
      }
      return ops::max(ops::eigh(Tensor::from(values, {n, n})).first).item<double>();
    };
    const double path = 2 * std::cos(std::numbers::pi / static_cast<double>(n - 1));
    CHECK(largest([](int64_t i, int64_t j) {
            return i != j + 1 ? 0 : i <= 2 ? 1e-200 : 1.0;
          }) == doctest::Approx(path).epsilon(1e-12));
    CHECK(largest([&](int64_t i, int64_t j) {
            return i != j + 1 ? 0 : i > n - 4 ? 5e-324 : 1.0;
          }) == doctest::Approx(2 * std::cos(std::numbers::pi / static_cast<double>(n - 2)))
                    .epsilon(1e-12));
    const auto sine = [&](int64_t i, int64_t j) {
      return std::sin(static_cast<double>(i * n + j));
    };
    const double alone =
        largest([&](int64_t i, int64_t j) { return i < n - 5 ? 1e10 * sine(i, j) : 0; });
    CHECK(largest([&](int64_t i, int64_t j) {
            return i < n - 5 ? 1e10 * sine(i, j) : j >= n - 5 ? 1e-300 * sine(i, j) : 0;
          }) == doctest::Approx(alone).epsilon(1e-12));
  }
  for (const int64_t n : {3, 70}) {
    const Tensor none = ops::full({n, n}, std::numeric_limits<double>::quiet_NaN(), DType::Float64);
    CHECK(ops::all(ops::isnan(ops::eigh(none).first)).item<bool>());
  }
}

TEST_CASE("lu of matrices of one block and of several") {
  for (const int64_t n : {1, 2, 31, 32, 33, 64, 100, 150}) {
    CAPTURE(n);
    const Tensor x = random_tensor({2, n, n}, -1, 1, 3);
    on_any_threads([&] {
      const auto [packed, rows] = ops::lu_factor(x);
      const Tensor l = ops::tril(packed, -1) + ops::eye(n, DType::Float64);
      CHECK(ops::all(ops::abs(l) <= 1).item<bool>());
      const Tensor places = ops::broadcast_to(ops::expand_dims(rows, -1), {2, n, n});
      check_same(ops::take_along_axis(ops::matmul(l, ops::triu(packed)), places, 1), x, 1e-10);
      return packed.to_vector<double>();
    });
  }
  // A column of zeros: the determinant is 0, without a division by it.
  Tensor singular = random_tensor({40, 40}, -1, 1, 4);
  singular = singular * ops::cast(ops::arange(40) != 7, DType::Float64);
  check_same(ops::det(singular), Tensor::scalar(0.0));
}

TEST_CASE("factors multiply to what was factored, float32 and 16 bits too") {
  for (const Shape& shape :
       {Shape{5, 5}, Shape{7, 3}, Shape{3, 7}, Shape{2, 40, 30}, Shape{1, 1}}) {
    CAPTURE(shape);
    const Tensor x = random_tensor(shape, -1, 1, 9);
    for (const std::string mode : {"reduced", "complete"}) {
      const auto [q, r] = ops::qr(x, mode);
      check_same(ops::matmul(q, r), x, 1e-12);
      check_same(ops::matmul(transposed(q), q),
                 ops::broadcast_to(ops::eye(q.dim(-1), DType::Float64),
                                   x.shape().slice(0, x.rank() - 2).concat({q.dim(-1), q.dim(-1)})),
                 1e-12);
    }
    const ops::Svd parts = ops::svd(x, false);
    check_same(ops::matmul(parts.u * ops::expand_dims(parts.s, -2), parts.vh), x, 1e-12);
    CHECK(ops::svd(x).u.dim(-1) == x.dim(-2));
    CHECK(ops::svd(x).vh.dim(-2) == x.dim(-1));
    const Tensor narrow = ops::cast(x, DType::BFloat16);
    CHECK(ops::svd(narrow, false).s.dtype() == DType::BFloat16);
    check_same(ops::svd(ops::cast(x, DType::Float32), false).s, ops::cast(parts.s, DType::Float32),
               1e-5);
  }
  const Tensor s = symmetric(random_tensor({2, 5, 5}, -1, 1));
  const auto [values, vectors] = ops::eigh(s);
  check_same(ops::matmul(s, vectors), vectors * ops::expand_dims(values, -2), 1e-12);
}

TEST_CASE("linear algebra of nothing, of integers, and of what has no inverse") {
  check_values(ops::det(ops::zeros({0, 0})), {}, {1});
  check_values(ops::inv(ops::zeros({2, 0, 0})), {2, 0, 0}, {});
  check_values(ops::cholesky(ops::zeros({0, 2, 2})), {0, 2, 2}, {});
  check_values(ops::svd(ops::zeros({3, 0}), false).s, {0}, {});
  check_values(ops::pinv(ops::zeros({3, 0})), {0, 3}, {});
  check_values(ops::matrix_rank(ops::zeros({3, 0})), {}, {0});
  check_values(ops::det(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 2})), {}, {-2}, 1e-6);
  check_values(ops::det(ops::ones({2, 2})), {}, {0});
  check_values(ops::slogdet(ops::zeros({2, 2})).first, {}, {0});
  CHECK(message_of<InvalidArgument>([] {
          ops::inv(ops::ones({3, 2, 2}));
        }) ==
        "inv: solve: expected matrices that have an inverse, but number 0 has none "
        "(its triangular factor has a 0 on the diagonal).");
  CHECK(message_of<InvalidArgument>([] { ops::cholesky(-ops::eye(2)); }) ==
        "cholesky: expected symmetric positive definite matrices, but number 0 isn't one.");
  CHECK(message_of<InvalidArgument>([] {
          ops::det(ops::ones({2, 3}));
        }) == "det: lu_factor: expected square matrices, got shape (2, 3).");
  CHECK(message_of<InvalidArgument>([] {
          ops::solve(ops::eye(3), ops::ones({2, 1}));
        }) ==
        "solve: expected right-hand sides of 3 rows, as the matrices of shape (3, 3) have, got "
        "shape (2, 1).");
  CHECK(message_of<InvalidArgument>([] { ops::qr(ops::eye(2), "full"); }) ==
        "qr: expected mode \"reduced\" or \"complete\", got \"full\".");
  CHECK(message_of<InvalidArgument>([] { ops::norm(ops::eye(2), {.ord = 3}); }) ==
        "norm: expected ord 1, -1, 2, -2 or an infinity for matrices, got 3. For vectors give one "
        "axis.");
}

TEST_CASE("svd of matrices large and small: its parts, and values alone") {
  for (const Shape& shape : {Shape{5, 3}, Shape{60, 60}, Shape{2, 50, 70}, Shape{90, 55}}) {
    CAPTURE(shape.to_string());
    const Tensor x = random_tensor(shape);
    const ops::Svd parts = ops::svd(x, false);
    check_same(ops::matmul(parts.u * ops::expand_dims(parts.s, -2), parts.vh), x, 1e-10);
    const ops::Svd values = ops::svd(x, false, false);
    CHECK_FALSE(values.u.defined());
    check_same(values.s, parts.s, 1e-10);
    check_compiled([](const Inputs& in) { return ops::svd(in[0], true, false).s; }, {x}, 1e-12);
  }
  check_gradients([](const Inputs& in) { return ops::svd(in[0], false, false).s; },
                  {random_tensor({4, 3})});
}

TEST_CASE("the gradient of a singular matrix's determinant says whose it is") {
  const Tensor x = ops::ones({2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::det(x);
  CHECK(message_of<InvalidArgument>([&] { tape.gradient(y, x); }) ==
        "the gradient of det, slogdet or lu_factor: expected matrices that have an inverse, but "
        "number 0 has none (its triangular factor has a 0 on the diagonal).");
}

TEST_CASE("einsum: a product is made in the order of the result's axes") {
  const Tensor key = random_tensor({2, 5, 3, 4});
  const Tensor query = random_tensor({2, 6, 3, 4}, -2, 2, 2);
  const Tensor scores = ops::einsum("bshd,bthd->bhts", {key, query});
  check_same(scores, ops::einsum("bthd,bshd->bhts", {query, key}));
  const Tensor products = ops::expand_dims(query, 2) * ops::expand_dims(key, 1);
  check_same(scores, ops::transpose(ops::sum(products, -1), {0, 3, 1, 2}), 1e-12);
  const std::vector<TensorType> types = {type_of(key), type_of(query)};
  const TracedGraph traced =
      trace(types, [](const Inputs& in) { return Inputs{ops::einsum("bshd,bthd->bhts", in)}; });
  const Graph& graph = traced.graph;
  CHECK(std::ranges::count_if(graph.nodes, [](const Node& n) { return n.is("transpose"); }) == 2);
  CHECK(graph.nodes.back().is("matmul"));
}

TEST_CASE("einsum: gradients, and its mistakes") {
  const Tensor a = random_tensor({2, 3, 4});
  const Tensor b = random_tensor({2, 4, 2}, -2, 2, 2);
  auto by = [](const char* subscripts) {
    return [=](const Inputs& in) { return ops::einsum(subscripts, in); };
  };
  check_smooth(by("bij,bjk->kbi"), {a, b});
  check_smooth(by("bij,bjk->"), {a, b});
  check_smooth(by("...j,...j"), {a, random_tensor({2, 3, 4}, -2, 2, 3)});
  check_smooth(by("ii->i"), {random_tensor({3, 3})});
  check_smooth(by("ij,jk,kl"),
               {random_tensor({2, 3}), random_tensor({3, 2}), random_tensor({2, 2})});
  check_values(ops::einsum("i,i", {ops::ones({0}), ops::ones({0})}), {}, {0});
  const Tensor m = ops::ones({2, 3});
  CHECK(message_of<InvalidArgument>([&] { ops::einsum("ij,jk", {m}); }) ==
        "einsum \"ij,jk\": expected 2 operands, one for each term, got 1.");
  CHECK(message_of<InvalidArgument>([&] { ops::einsum("ijk", {m}); }) ==
        "einsum \"ijk\": expected 3 axes for the term 'ijk', got shape (2, 3).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::einsum("ij,jk", {m, m});
        }) == "einsum \"ij,jk\": expected one size for the axes 'j', got 3 and 2.");
  CHECK(message_of<InvalidArgument>([&] { ops::einsum("ij->ik", {m}); }) ==
        "einsum \"ij->ik\": expected letters of the operands, each once, in the result, got "
        "'ik'.");
}

}  // namespace
}  // namespace cornu::testing

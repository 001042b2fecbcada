// SPDX-License-Identifier: Apache-2.0
// Kernels that compute some rows of tables: their results, where the CPU's differ from them, and
// what the steps that use them write.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/graph/passes/row_ops.h"
#include "tests/backends/cuda/lookups.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/errors.h"
#include "tests/support/launches.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::tensor_of;
using cpu::testing::values_of;
using test::message_of;

// Indices in [-rows, rows); with `repeat`, a third of them are row 2.
Tensor indices_of(int64_t count, int64_t rows, bool repeat) {
  PhiloxEngine engine(7);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) {
    const auto draw = static_cast<int64_t>(engine.below(static_cast<uint64_t>(2 * rows)));
    value = static_cast<double>(repeat && engine.below(3) == 0 ? 2 : draw - rows);
  }
  return tensor_of(values, {count}, DType::Int32);
}

// Checks that each row in [begin, begin + size) that scatter_add adds to occurs once, with its
// sums.
void check_sum_rows(const Tensor& indices, const Tensor& updates, int64_t rows, int64_t begin,
                    int64_t size) {
  passes::row_op("sum_rows");
  const int64_t count = indices.num_elements(), width = updates.num_elements() / count;
  const Shape table = {rows, width};
  const auto found = run_lowered("sum_rows", {indices, updates},
                                 {{"shape", table.dims()}, {"begin", begin}, {"size", size}},
                                 {{DType::Int64, {count}}, {updates.dtype(), {count, width}}});
  const Tensor whole =
      cpu_backend().execute(OpRegistry::global().at("scatter_add"), std::vector{indices, updates},
                            {{"shape", table.dims()}, {"axis", int64_t{0}}},
                            std::vector{TensorType{updates.dtype(), table}}, Device{})[0];
  std::map<int64_t, int> wanted;
  for (const double index : values_of(indices)) {
    const auto row = static_cast<int64_t>(index) + (index < 0 ? rows : 0) - begin;
    if (row >= 0 && row < size) wanted[row] = 1;
  }
  const std::vector<double> numbers = values_of(found[0]);
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(numbers[static_cast<size_t>(i)]);
    if (row == -1) continue;
    REQUIRE(wanted[row]-- == 1);
    const bool same =
        values_of(found[1].rows(i, i + 1)) == values_of(whole.rows(begin + row, begin + row + 1));
    CHECK(same);
  }
  CHECK(std::ranges::all_of(wanted, [](const auto& one) { return one.second == 0; }));
}

TEST_CASE("sums of rows have the bits of scatter_add's, each row once") {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
    CAPTURE(dtype);
    for (const int64_t count : {1, 7, 1500}) {
      CAPTURE(count);
      const Tensor indices = indices_of(count, 300, true);
      check_sum_rows(indices, random_tensor({count, 24}, dtype, 1), 300, 0, 300);
      check_sum_rows(indices, random_tensor({count, 3}, dtype, 1), 300, 100, 150);
    }
  }
  // More rows than two bytes can count, and a single row.
  check_sum_rows(indices_of(40, 70'000, false), random_tensor({40, 2}, DType::Float32, 1), 70'000,
                 0, 70'000);
  check_sum_rows(indices_of(5, 1, false), random_tensor({5, 2}, DType::Float32, 1), 1, 0, 1);
  passes::row_op("sum_rows");
  CHECK(
      message_of<OutOfRange>([] {
        run_lowered(
            "sum_rows",
            {tensor_of({0, 5}, {2}, DType::Int32), random_tensor({2, 3}, DType::Float32, 1)},
            {{"shape", std::vector<int64_t>{5, 3}}, {"begin", int64_t{0}}, {"size", int64_t{5}}},
            {{DType::Int64, {2}}, {DType::Float32, {2, 3}}});
      }) ==
      "scatter_add: index 5 is outside of [-5, 5), axis 0 of shape (5, 3). Negative indices count "
      "from the end.");
}

TEST_CASE("rows are read and put by their numbers") {
  passes::row_op("put_rows");
  for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Int8}) {
    for (const int64_t width : {1, 6, 32}) {
      const Tensor table = random_tensor({9, width}, dtype, 1);
      const Tensor numbers = tensor_of({4, -1, 0, 8, -1}, {5}, DType::Int64);
      const Tensor values = random_tensor({5, width}, dtype, 2);
      const Tensor read = run_lowered("gather_rows", {table, numbers}, {{"axis", int64_t{0}}},
                                      {type_of(values)})[0];
      CHECK(values_of(read.rows(2, 4)) ==
            values_of(ops::concatenate({table.rows(0, 1), table.rows(8, 9)}, 0)));
      const Tensor put = run_lowered("put_rows", {table, numbers, values}, {}, {type_of(table)})[0];
      CHECK(values_of(put.rows(4, 5)) == values_of(values.rows(0, 1)));
      CHECK(values_of(put.rows(8, 9)) == values_of(values.rows(3, 4)));
      CHECK(values_of(put.rows(1, 4)) == values_of(table.rows(1, 4)));
    }
  }
}

TEST_CASE("an index outside of a table is refused, and nothing is written") {
  register_backend(DeviceType::Gpu, cuda_backend(simulated::simulated_runtime()));
  const DeviceScope scope("GPU:0");
  Lookups lookups("float32", true);
  const Tensor before = lookups.table.value().host();
  const auto first = numbers({3, 4, 5, 6, 7, 8});
  lookups.step(first, numbers({1, 2, 3, 4}));
  lookups.step(first, numbers({1, 2, 3, 4}));
  const std::vector<float> trained = lookups.table.value().to_vector<float>();
  CHECK(trained != before.to_vector<float>());
  const std::byte* const place = lookups.table.value().address();
  const Tensor loss = lookups.step(first, numbers({1, 2, 3, 8192}));
  CHECK(message_of<OutOfRange>([&] { loss.item<float>(); }).find("index 8192 is outside") !=
        std::string::npos);
  CHECK_THROWS_AS(lookups.table.value(), FailedPrecondition);
  std::vector<float> found(trained.size());
  gpu_device(0).read(reinterpret_cast<std::byte*>(found.data()), place,
                     found.size() * sizeof(float), nullptr);
  CHECK(found == trained);
}

TEST_CASE("embeddings are trained on a GPU by rows, as on the CPU") {
  const auto train = [](const char* device, const char* optimizer) {
    set_random_seed(3);
    const DeviceScope scope(device);
    Sequential model({layers::Embedding({.input_dim = 5000, .output_dim = 64}), layers::Flatten(),
                      layers::Dense({.units = 1})});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    const Tensor x = Tensor::from<int32_t>({1, 7, 7, 3, 4999, 1, 0, 2, 2, 2}, {5, 2});
    model.fit(x, ops::ones({5, 1}).host(), {.batch_size = 5, .epochs = 3, .verbose = 0});
    return values_of(model.get_weights()[0].host());
  };
  register_backend(DeviceType::Gpu, cuda_backend(simulated::simulated_runtime()));
  for (const char* optimizer : {"sgd", "adagrad", "adam"}) {
    CAPTURE(optimizer);
    const std::vector<double> expected = train("CPU:0", optimizer);
    std::vector<double> found;
    const auto lines = test::launches_of([&] { found = train("GPU:0", optimizer); });
    const bool by_rows = std::ranges::find(lines, "update_rows") != lines.end();
    CHECK(by_rows == (std::string_view(optimizer) != "adam"));
    double most = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      most = std::max(most, std::abs(found[i] - expected[i]));
    }
    CHECK(most < 1e-6);
  }
}

}  // namespace
}  // namespace cornu::cuda::testing

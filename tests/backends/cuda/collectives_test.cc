// SPDX-License-Identifier: Apache-2.0
// Communication between simulated GPUs: what groups compute, how they end, and replicas that use
// them.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <barrier>
#include <future>
#include <numeric>
#include <thread>

#include "framework/backends/cuda/connected_group.h"
#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/one_card.h"
#include "framework/strategy/reduce_elements.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using test::error_of;

namespace {

using cuda::DeviceCollectives;
using cuda::Runtime;
using cuda::RuntimeStream;
using Links = std::vector<std::unique_ptr<DeviceCollectives>>;

// Runs `call(rank)` on a separate thread for each rank.
template <class Call>
void on_ranks(size_t size, const Call& call) {
  std::vector<std::future<void>> ranks;
  for (size_t rank = 0; rank < size; ++rank) {
    ranks.push_back(std::async(std::launch::async, call, rank));
  }
  for (std::future<void>& rank : ranks) rank.get();
}

// A group, with a stream and arrays on each rank's GPU.
class Ranks {
 public:
  Ranks(Runtime& runtime, Links links) : runtime_(runtime), links_(std::move(links)) {
    for (const auto& link : links_) streams_.push_back(runtime.make_stream(link->gpu()));
  }
  ~Ranks() {
    for (RuntimeStream* stream : streams_) runtime_.synchronize(stream);
    for (const auto& [gpu, array] : arrays_) runtime_.free(gpu, array);
  }

  size_t size() const { return links_.size(); }
  DeviceCollectives& link(size_t rank) { return *links_[rank]; }
  RuntimeStream* stream(size_t rank) { return streams_[rank]; }

  template <class T>
  T* array(size_t rank, const std::vector<T>& values) {
    const std::lock_guard lock(mutex_);
    const size_t bytes = values.size() * sizeof(T);
    void* array = runtime_.allocate(links_[rank]->gpu(), bytes);
    arrays_.emplace_back(links_[rank]->gpu(), array);
    runtime_.copy_to_gpu(streams_[rank], array, values.data(), bytes);
    return static_cast<T*>(array);
  }
  template <class T>
  std::vector<T> read(size_t rank, const T* array, size_t count) {
    std::vector<T> values(count);
    runtime_.copy_to_host(streams_[rank], values.data(), array, count * sizeof(T));
    runtime_.synchronize(streams_[rank]);
    return values;
  }

 private:
  Runtime& runtime_;
  Links links_;
  std::vector<RuntimeStream*> streams_;
  std::mutex mutex_;
  std::vector<std::pair<int, void*>> arrays_;
};

Runtime& runtime() { return cuda::simulated::simulated_runtime(); }

Ranks gpus_of_their_own() { return {runtime(), runtime().make_collectives(std::vector{1, 0})}; }

template <class T>
std::vector<T> some_values(size_t rank, int64_t count) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>((i * 37 + static_cast<int64_t>(rank) * 11) % 101);
    values.push_back(static_cast<T>(std::is_integral_v<T> ? number : number / 7.0f - 5.0f));
  }
  return values;
}

// Reduces arrays of these sizes, in place or not, and compares the results with the host's.
template <class T>
void check_reduction(Ranks& ranks, DType dtype, ReduceOp op, const std::vector<int64_t>& counts,
                     bool in_place) {
  std::vector<std::vector<Segment>> segments(ranks.size());
  on_ranks(ranks.size(), [&](size_t rank) {
    for (const int64_t count : counts) {
      T* in = ranks.array(rank, some_values<T>(rank, count));
      T* out = in_place ? in : ranks.array(rank, std::vector<T>(static_cast<size_t>(count)));
      segments[rank].push_back({in, out, count});
    }
    ranks.link(rank).all_reduce(ranks.stream(rank), segments[rank], dtype, op);
  });
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<std::vector<T>> in;
    std::vector<const void*> places;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      in.push_back(some_values<T>(rank, counts[i]));
      places.push_back(in.back().data());
    }
    const auto count = static_cast<size_t>(counts[i]);
    std::vector<T> expected(count);
    reduce_elements(expected.data(), places, 0, counts[i], dtype, op);
    for (size_t rank = ranks.size(); rank-- > 0;) {  // the last one is waited for first
      const auto found = ranks.read(rank, static_cast<const T*>(segments[rank][i].out), count);
      CHECK(std::memcmp(found.data(), expected.data(), count * sizeof(T)) == 0);
    }
  }
}

void check_reductions(Ranks& ranks) {
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max}) {
    CAPTURE(static_cast<int>(op));
    check_reduction<float>(ranks, DType::Float32, op, {1, 0, 1000, 7}, true);
    check_reduction<bfloat16>(ranks, DType::BFloat16, op, {33, 8}, false);
    check_reduction<int64_t>(ranks, DType::Int64, op, {5}, true);
  }
}

void check_other_collectives(Ranks& ranks) {
  const size_t size = ranks.size();
  std::vector<float*> parts(size), scattered(size), gathered(size);
  on_ranks(size, [&](size_t rank) {
    DeviceCollectives& link = ranks.link(rank);
    RuntimeStream* stream = ranks.stream(rank);
    const auto number = static_cast<float>(rank);
    std::vector<float> values(size * 3);
    std::iota(values.begin(), values.end(), number);
    parts[rank] = ranks.array(rank, values);
    scattered[rank] = parts[rank] + rank * 3;  // in place
    link.reduce_scatter(stream, parts[rank], scattered[rank], 3, DType::Float32, ReduceOp::Sum);
    gathered[rank] = ranks.array(rank, std::vector<float>(size * 3));
    link.all_gather(stream, scattered[rank], gathered[rank], 3 * sizeof(float));
    link.broadcast(stream, scattered[rank], 3 * sizeof(float), 1);
  });
  std::vector<float> expected;
  for (size_t i = 0; i < size * 3; ++i) {
    expected.push_back(static_cast<float>(size * i + size * (size - 1) / 2));
  }
  for (size_t rank = size; rank-- > 0;) {
    CHECK(ranks.read(rank, gathered[rank], size * 3) == expected);
    CHECK(ranks.read(rank, scattered[rank], 3) ==
          std::vector<float>(expected.begin() + 3, expected.begin() + 6));
  }
}

}  // namespace

TEST_CASE("GPUs of a group reduce as the host does, whichever is waited for") {
  Ranks ranks = gpus_of_their_own();
  check_reductions(ranks);
  check_other_collectives(ranks);
}

TEST_CASE("GPUs of a group that call different things") {
  Ranks ranks = gpus_of_their_own();
  float* arrays[] = {ranks.array<float>(0, {1, 2}), ranks.array<float>(1, {3, 4})};
  const Segment both{arrays[0], arrays[0], 2};
  const Segment one{arrays[1], arrays[1], 1};
  ranks.link(0).all_reduce(ranks.stream(0), {&both, 1}, DType::Float32, ReduceOp::Sum);
  const char* const text =
      "Internal: GPUs of a group call different things: rank 0 all_reduce (sum) of 2 float32 in 1 "
      "parts, and rank 1 all_reduce (sum) of 1 float32 in 1 parts.";
  CHECK(error_of([&] {
          ranks.link(1).all_reduce(ranks.stream(1), {&one, 1}, DType::Float32, ReduceOp::Sum);
        }) == text);
  CHECK(error_of([&] { ranks.link(0).check_state(); }) == text);
  ranks.link(1).abort();
}

TEST_CASE("a GPU that waits for one that never comes is let go") {
  Ranks ranks = gpus_of_their_own();
  float* array = ranks.array<float>(0, {1, 2});
  const Segment segment{array, array, 2};
  ranks.link(0).all_reduce(ranks.stream(0), {&segment, 1}, DType::Float32, ReduceOp::Sum);
  const auto end = runtime().record(ranks.stream(0));
  for (int i = 0; i < 4; ++i) CHECK_FALSE(runtime().is_done(*end));
  auto reader = std::async(std::launch::async, [&] { return ranks.read(0, array, 2); });
  auto waiter = std::async(std::launch::async,
                           [&] { return error_of([&] { ranks.link(0).synchronize(*end); }); });
  ranks.link(1).abort();
  CHECK(reader.get() != std::vector<float>{1, 2});  // garbage
  const char* const text =
      "Aborted: Communication between GPUs was stopped, since a replica has failed.";
  CHECK(waiter.get() == text);
  CHECK(error_of([&] {
          ranks.link(0).all_reduce(ranks.stream(0), {&segment, 1}, DType::Float32, ReduceOp::Sum);
        }) == text);
}

namespace {

// Sums an array over a connection's ranks, in place.
void sum_of(cuda::Connection& connection, RuntimeStream* stream, int rank, float* array,
            int64_t count) {
  const Segment segment{array, array, count};
  connection.all_reduce(rank, stream, {&segment, 1}, DType::Float32, ReduceOp::Sum);
}

}  // namespace

TEST_CASE("steps that all have enqueued end before a group is stopped") {
  cuda::Connection connection(runtime(), runtime().make_collectives(std::vector{0, 1}));
  float* arrays[2];
  float* results[2];
  Ranks ranks(runtime(), runtime().make_collectives(std::vector{0, 1}));  // for its streams
  for (const int rank : {0, 1}) {
    const auto index = static_cast<size_t>(rank);
    arrays[rank] = ranks.array<float>(index, {1, 2});
    results[rank] = ranks.array<float>(index, {0, 0});
    sum_of(connection, ranks.stream(index), rank, arrays[rank], 2);
    runtime().copy(ranks.stream(index), results[rank], arrays[rank], 2 * sizeof(float));
    connection.end_step(rank);
  }
  sum_of(connection, ranks.stream(0), 0, arrays[0], 2);  // the other rank fails before it joins
  connection.abort();
  for (const size_t rank : {0, 1}) {
    CHECK(ranks.read(rank, results[rank], 2) == std::vector<float>{2, 4});
  }
  CHECK(ranks.read(0, arrays[0], 2) != std::vector<float>{4, 8});
  CHECK(error_of([&] { sum_of(connection, ranks.stream(1), 1, arrays[1], 2); }) ==
        "Aborted: Communication between GPUs was stopped, since a replica has failed.");
}

TEST_CASE("a rank's calls are compared before its GPU gets them") {
  Ranks ranks(runtime(), runtime().make_collectives(std::vector{0, 1}));  // for its streams
  float* array = ranks.array<float>(0, {1, 2});
  const char* const text =
      "FailedPrecondition: Collective: every rank must make the same calls in the same order, but ";
  {
    cuda::Connection connection(runtime(), runtime().make_collectives(std::vector{0, 1}));
    sum_of(connection, ranks.stream(0), 0, array, 2);
    CHECK(error_of([&] { sum_of(connection, ranks.stream(1), 1, nullptr, 1); })
              .starts_with(fmt::format("{}rank 0 calls all_reduce (sum) of 2 float32 in 1 parts, "
                                       "and rank 1 all_reduce (sum) of 1 float32 in 1 parts. ",
                                       text)));
    connection.abort();
  }
  const std::string missing = fmt::format(
      "{}rank 0 calls all_reduce (sum) of 2 float32 in 1 parts, and another one's step has ended "
      "without it. ",
      text);
  for (const bool ends_first : {false, true}) {
    cuda::Connection connection(runtime(), runtime().make_collectives(std::vector{0, 1}));
    if (ends_first) connection.end_step(1);
    const std::string first = error_of([&] { sum_of(connection, ranks.stream(0), 0, array, 2); });
    const std::string end = ends_first ? "" : error_of([&] { connection.end_step(1); });
    CHECK((first + end).starts_with(missing));
    connection.abort();
  }
}

namespace {

// GPU:0 is a card, GPU:1 to GPU:4 are parts of a second card, and GPU:5 and GPU:6 of a third, where
// GPU:6 has little memory.
void use_cards() {
  static Runtime* const cards = [] {
    Runtime* made = cuda::simulated::make_runtime({.gpus = 3}).release();
    Backend& backend = cuda::cuda_backend(*made);
    backend.split_device(1, std::vector<size_t>{0, 0, 0, 0});
    backend.split_device(2, std::vector<size_t>{0, size_t{8} << 20});
    register_backend(DeviceType::Gpu, backend);
    return made;
  }();
  static_cast<void>(cards);
}

distribute::MirroredStrategy mirrored_on(const std::vector<std::string>& devices) {
  use_cards();
  return distribute::MirroredStrategy({.devices = devices});
}

Tensor summed(const Tensor& x) {
  return distribute::get_replica_context().all_reduce(ReduceOp::Sum, x);
}

Tensor ones(int64_t count) { return ops::ones({count}).host(); }

std::vector<float> values_of(const distribute::PerReplica& results, size_t replica) {
  return results[replica].single().to_vector<float>();
}

// The step before a failure is right, the error is the first cause, and the next step works.
void check_failing(const std::vector<std::string>& devices) {
  const auto strategy = mirrored_on(devices);
  const auto scope = strategy.scope();
  const auto count = static_cast<float>(devices.size());
  const Tensor table = ones(4);
  const Variable total(Tensor(0.0f), {.name = "total", .trainable = false});
  const Function step = function([&](const Tensor& x) { return summed(x) * 2.0f; });
  // The last replica has no memory for its results. The others read garbage from the sum, which
  // take rejects, immediately or later.
  const auto large = [&](const Tensor& x) {
    const Tensor index = summed(ops::cast(ops::sum(x) * 0.0f, DType::Int32));
    const Tensor many = ops::broadcast_to(ops::expand_dims(x, 1), {x.dim(0), 1 << 16});
    return many + ops::take(table, index, 0);
  };
  const Function looks = function(large);
  const Function writes = function([&](const Tensor& x) {
    const Tensor many = large(x);
    total.assign_add(ops::sum(many));
    return many;
  });
  const Function turns = function([&](const Tensor& x) {
    using Inputs = std::vector<Tensor>;
    return ops::while_loop(
        [](const Inputs& y) { return ops::not_equal(y[1], 0); },
        [](const Inputs& y) {
          return Inputs{y[0] + 1.0f, y[1]};
        },
        Inputs{large(x), summed(ops::cast(ops::sum(x) * 0.0f, DType::Int32))})[0];
  });
  for (const Function& fails : {looks, looks, turns, writes}) {
    const auto before = strategy.run(step, Tensors(ones(8)));
    CHECK(error_of([&] {
            strategy.run(fails, Tensors(ones(64)));
          }).starts_with("ResourceExhausted: " + devices.back() + ": out of memory"));
    for (size_t replica = 0; replica < devices.size(); ++replica) {
      CHECK(values_of(before, replica) == std::vector<float>(8, 2 * count));
    }
  }
  CHECK(values_of(strategy.run(step, Tensors(ones(2))), 0) == std::vector<float>(2, 2 * count));
}

}  // namespace

TEST_CASE("a replica that fails lets the others' GPUs go, and spoils no step before") {
  check_failing({"GPU:0", "GPU:1", "GPU:6"});
  check_failing({"GPU:5", "GPU:6"});  // on one card
}

TEST_CASE("replicas that make other calls than the rest are told so, on GPUs of any kind") {
  for (const auto& devices :
       {std::vector<std::string>{"GPU:0", "GPU:1"}, std::vector<std::string>{"GPU:1", "GPU:2"}}) {
    const auto strategy = mirrored_on(devices);
    // Neither loop iteration counts nor the branches taken are compared in advance.
    const Function loops = function([](const Tensor& x) {
      using Inputs = std::vector<Tensor>;
      return ops::while_loop([](const Inputs& y) { return ops::sum(y[0]) < 9.0f; },
                             [](const Inputs& y) {
                               return Inputs{y[0] + 1.0f, summed(y[1])};
                             },
                             Inputs{x, x})[1];
    });
    const Function chooses = function([](const Tensor& x) {
      return ops::cond(
          ops::sum(x) > 5.0f, [&] { return summed(x); },
          [&] {
            return ops::sum(summed(ops::stack({x, x})), 0);
          });
    });
    const distribute::PerReplica values(
        {Tensors(Tensor::from<float>({1})), Tensors(Tensor::from<float>({7}))});
    const char* const text = "every rank must make the same calls in the same order";
    for (int i = 0; i < 2; ++i) {
      CHECK(error_of([&] { strategy.run(loops, values); }).find(text) != std::string::npos);
      CHECK(error_of([&] { strategy.run(chooses, values); }).find(text) != std::string::npos);
    }
    CHECK(values_of(strategy.run(chooses, Tensors(ones(1))), 1) == std::vector<float>{4});
    CHECK(values_of(strategy.run(loops, Tensors(ones(1))), 0) == std::vector<float>{256});
  }
}

TEST_CASE("threads whose steps communicate share GPUs, while arrays travel between these") {
  constexpr int kLate = 40;
  constexpr float kSum = 2 * kLate;
  // A replica whose value starts far from kLate reaches the sum late.
  const Function step = function([](const Tensor& x) {
    using Inputs = std::vector<Tensor>;
    return summed(ops::while_loop([](const Inputs& y) { return y[0] < float{kLate}; },
                                  [](const Inputs& y) { return Inputs{y[0] + 1.0f}; },
                                  Inputs{x})[0]);
  });
  for (const auto& devices :
       {std::vector<std::string>{"GPU:0", "GPU:1"}, std::vector<std::string>{"GPU:3", "GPU:4"}}) {
    const auto strategy = mirrored_on(devices);
    std::barrier together(2);
    on_ranks(3, [&](size_t thread) {
      const auto late = [&](size_t replica) {
        return Tensors(Tensor(thread == replica ? 0.0f : float{kLate}));
      };
      Tensor travels = ones(20);
      for (size_t i = 0; i < 10; ++i) {
        if (thread == 2) {
          travels = travels.to(devices[i % 2]);
          continue;
        }
        together.arrive_and_wait();
        const auto results = strategy.run(step, distribute::PerReplica({late(0), late(1)}));
        CHECK(results[1].single().item<float>() == kSum);
      }
      CHECK(travels.to_vector<float>() == std::vector<float>(20, 1.0f));
    });
  }
}

namespace {

Ranks parts_of_a_card(int count) {
  return {runtime(), cuda::make_one_card_collectives(runtime(), 0, count)};
}

}  // namespace

TEST_CASE("replicas on one card reduce as the host does, with its bits") {
  for (const int count : {2, 3}) {
    CAPTURE(count);
    Ranks ranks = parts_of_a_card(count);
    check_reductions(ranks);
    check_other_collectives(ranks);
  }
  Ranks ranks = parts_of_a_card(2);
  const auto check_type = [&]<class T>(T, DType dtype) {
    check_reduction<T>(ranks, dtype, ReduceOp::Mean, {100}, true);
    check_reduction<T>(ranks, dtype, ReduceOp::Max, {3, 16}, false);
  };
  check_type(int8_t(), DType::Int8);
  check_type(uint8_t(), DType::UInt8);
  check_type(int32_t(), DType::Int32);
  check_type(uint32_t(), DType::UInt32);
  check_type(uint64_t(), DType::UInt64);
  check_type(float16(), DType::Float16);
  check_type(double(), DType::Float64);
  // More arrays than a launch has parameters for, and none at all.
  std::vector<int64_t> counts(250, 2);
  counts[120] = 5000;
  check_reduction<float>(ranks, DType::Float32, ReduceOp::Sum, counts, true);
  check_reduction<float>(ranks, DType::Float32, ReduceOp::Sum, {0, 0}, true);
  check_reduction<float>(ranks, DType::Float32, ReduceOp::Sum, {}, true);
}

TEST_CASE("NaN of any rank stays, on one card") {
  Ranks ranks = parts_of_a_card(2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  on_ranks(2, [&](size_t rank) {
    float* array = ranks.array<float>(
        rank, rank == 0 ? std::vector<float>{nan, 1, 2} : std::vector<float>{1, nan, 3});
    const Segment segment{array, array, 3};
    ranks.link(rank).all_reduce(ranks.stream(rank), {&segment, 1}, DType::Float32, ReduceOp::Min);
    const std::vector<float> found = ranks.read(rank, array, 3);
    CHECK(std::isnan(found[0]));
    CHECK(std::isnan(found[1]));
    CHECK(found[2] == 2);
  });
}

TEST_CASE("calls on one card follow each other without the host's waiting for any") {
  Ranks ranks = parts_of_a_card(2);
  std::vector<std::shared_ptr<cuda::RuntimeEvent>> first(2);
  std::vector<float*> arrays(2);
  on_ranks(2, [&](size_t rank) {
    arrays[rank] = ranks.array<float>(rank, {1, 2});
    const Segment segment{arrays[rank], arrays[rank], 2};
    for (int call = 0; call < 2; ++call) {
      ranks.link(rank).all_reduce(ranks.stream(rank), {&segment, 1}, DType::Float32, ReduceOp::Sum);
      if (call == 0) first[rank] = runtime().record(ranks.stream(rank));
    }
    // Later work in a rank's stream must not overwrite what others still read.
    runtime().fill(ranks.stream(rank), arrays[rank], 0, rank == 0 ? sizeof(float) : 0);
  });
  CHECK_FALSE(runtime().is_done(*first[0]));
  CHECK(ranks.read(0, arrays[0], 2) == std::vector<float>{0, 8});
  CHECK(ranks.read(1, arrays[1], 2) == std::vector<float>{4, 8});
}

TEST_CASE("a rank on a card that never comes, or calls something else") {
  Ranks ranks = parts_of_a_card(3);
  float* array = ranks.array<float>(0, {1, 2});
  const Segment segment{array, array, 2};
  const auto reduce = [&](Ranks& of, size_t rank, DType dtype) {
    return error_of([&] {
      of.link(rank).all_reduce(of.stream(rank), {&segment, 1}, dtype, ReduceOp::Sum);
    });
  };
  auto waiter = std::async(std::launch::async, [&] { return reduce(ranks, 0, DType::Float32); });
  ranks.link(1).abort();
  const char* const text = "Aborted: Communication on a GPU was stopped: a replica has failed.";
  CHECK(waiter.get() == text);
  CHECK(error_of([&] { ranks.link(2).check_state(); }) == text);
  CHECK(ranks.read(0, array, 2) == std::vector<float>{1, 2});

  Ranks late(runtime(),
             cuda::make_one_card_collectives(runtime(), 0, 3, std::chrono::milliseconds(1)));
  CHECK(reduce(late, 1, DType::Float32) ==
        "DeadlineExceeded: Collective on a GPU: rank 1 waited 0.001 s in all_reduce (sum) of 2 "
        "float32 in 1 parts for rank 0, rank 2.");
  CHECK(reduce(late, 0, DType::Float32)
            .starts_with("Aborted: Communication on a GPU was stopped: "
                         "Collective on a GPU: rank 1 waited"));

  Ranks two = parts_of_a_card(2);
  auto first = std::async(std::launch::async, [&] { return reduce(two, 0, DType::Float32); });
  const std::string second = reduce(two, 1, DType::Int32);
  const std::string both = first.get() + second;  // the rank that comes last compares
  CHECK(both.find("Internal: GPUs of a group call different things: rank ") != std::string::npos);
  CHECK(both.find("Aborted: Communication on a GPU was stopped: GPUs of a group") !=
        std::string::npos);
  CHECK(reduce(two, 0, DType::Bool) ==
        "Unimplemented: Collective on a GPU: no reduction of bool. Cast it to int32.");
}

TEST_CASE("models train on parts of a card as on the CPU, and as on cards of their own") {
  use_cards();
  const auto train = [](Strategy strategy) {
    set_random_seed(3);
    const auto scope = strategy.scope();
    Sequential model({layers::Dense({.units = 8, .activation = "relu"}),
                      layers::BatchNormalization({.synchronized = true}),
                      layers::Dropout({.rate = 0.2}), layers::Dense({.units = 3})});
    model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    const Tensor x = ops::sin(ops::reshape(ops::arange(0, 156), {26, 6})).host();
    const Tensor y = ops::mod(ops::arange(0, 26), 3).host();
    return model.fit(x, y, {.batch_size = 12, .epochs = 3, .verbose = 0})["loss"];
  };
  const auto expected = train(distribute::OneDeviceStrategy("CPU:0"));
  REQUIRE(expected.size() == 3);
  const auto by_host = train(
      distribute::MirroredStrategy({.devices = {"GPU:1", "GPU:2"},
                                    .cross_device_ops = distribute::HierarchicalCopyAllReduce()}));
  std::vector<std::vector<double>> found;
  for (const std::vector<std::string>& devices : {std::vector<std::string>{"GPU:0", "GPU:1"},
                                                  {"GPU:1", "GPU:2"},
                                                  {"GPU:1", "GPU:2", "GPU:3"},
                                                  {"GPU:1", "GPU:2", "GPU:3", "GPU:4"},
                                                  {"GPU:0", "GPU:1", "GPU:2"}}) {
    found.push_back(train(mirrored_on(devices)));
    for (size_t epoch = 0; epoch < 3; ++epoch) {
      CHECK(found.back()[epoch] == doctest::Approx(expected[epoch]).epsilon(1e-4));
    }
  }
  CHECK(found[1] == found[0]);
  CHECK(found[1] == by_host);
  const cuda::simulated::MissingCollectives missing;
  const test::Log log;
  const auto without = train(mirrored_on({"GPU:0", "GPU:1"}));
  CHECK(without == by_host);
  CHECK(log.text().find("2 GPUs communicate through the host's memory. The library that connects "
                        "GPUs is missing.") != std::string::npos);
}

// SPDX-License-Identifier: Apache-2.0
// Parameter servers: concurrent workers, whose fault an error is, and calls with false contents.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <thread>

#include "distribute/cluster/calls.h"
#include "distribute/parameter_server/divide_step.h"
#include "distribute/parameter_server/remote_variables.h"
#include "framework/graph/trace.h"
#include "tests/distribute/job.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;
using test::Job;

TEST_CASE("steps are told apart by names and structure of their arguments") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const Function difference = function([](const Tensors& a) { return a["x"] - a["y"]; });
  const Tensor five(5.0f), three(3.0f);
  CHECK(coordinator.schedule(difference, Tensors({{"y", five}, {"x", three}}))
            .fetch()
            .item<float>() == -2);
  CHECK(coordinator.schedule(difference, Tensors({{"x", five}, {"y", three}}))
            .fetch()
            .item<float>() == 2);
  const Function count = function([](const Tensors& a, const Tensors& b) {
    return Tensor(static_cast<float>(10 * a.size() + b.size())) + 0.0f * a[0];
  });
  CHECK(coordinator.schedule(count, Tensors({five, five}), Tensors(three)).fetch().item<float>() ==
        21);
  CHECK(coordinator.schedule(count, Tensors(five), Tensors({five, three})).fetch().item<float>() ==
        12);
  const std::vector<Tensors> both =
      coordinator.fetch({coordinator.schedule(count, Tensors(five), Tensors(three)),
                         coordinator.schedule(count, Tensors({five, five}), Tensors(three))});
  CHECK(both.at(0).item<float>() == 11);
  CHECK(both.at(1).item<float>() == 21);
}

TEST_CASE("what isn't a sum of its last value replaces a variable") {
  const Variable w(ops::ones({3}), {.name = "w"});
  const auto keeps = [&](const std::function<void()>& assign) {
    const TracedGraph traced = trace({}, [&](const std::vector<Tensor>&) {
      assign();
      return std::vector<Tensor>();
    });
    const DividedStep divided = divide_step(traced.graph, [](const Variable&) {
      return Placement{{0, {0, 3}}};
    });
    // The current value matters if the server's part reads it.
    return divided.updates.at(0).graph.use_counts().at(
               static_cast<size_t>(divided.updates[0].graph.states[0].in)) > 0;
  };
  const Tensor x = ops::ones({3});
  CHECK(keeps([&] { w.assign_add(x); }));
  CHECK(keeps([&] { w.assign(w + x); }));
  CHECK(keeps([&] { w.assign(x + w.value()); }));
  CHECK(keeps([&] { w.assign(w - x); }));
  CHECK(keeps([&] { w.assign(w * 0.9f + x * 0.1f); }));
  CHECK(keeps([&] { w.assign(w * 0.5f); }));
  CHECK_FALSE(keeps([&] { w.assign(w / ops::sqrt(ops::sum(ops::square(w.value())))); }));
  CHECK_FALSE(keeps([&] { w.assign(x - w); }));
  CHECK_FALSE(keeps([&] { w.assign(w + (x - w.value()) * 0.1f); }));
  CHECK_FALSE(keeps([&] { w.assign(w.value() * w.value()); }));
  CHECK_FALSE(keeps([&] { w.assign(x); }));
}

TEST_CASE("an optimizer's slots are kept beside what they belong to") {
  Job job(1, 3);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const auto scope = strategy.scope();
  std::vector<Variable> weights;
  for (int i = 0; i < 4; ++i)
    weights.emplace_back(ops::ones({300, 4}), VariableOptions{.name = "w"});
  const Optimizer adam = optimizers::Adam();
  const Function step = function([&](const Tensor& ids) {
    GradientTape tape;
    Tensor loss(0.0f);
    for (const Variable& weight : weights) loss = loss + ops::sum(ops::take(weight, ids, 0));
    adam.apply_gradients(tape.gradient(loss, weights), weights);
    return loss;
  });
  const Tensor ids = Tensor::from<int32_t>({3, 5});
  CHECK(coordinator.schedule(step, ids).fetch().item<float>() == 32);
  const RemoteVariables& all = dynamic_cast<const RemoteHome&>(*weights[0].home()).all();
  const auto server_of = [&](const Variable& variable) {
    return all.placement(variable).at(0).server;
  };
  size_t slots = 0;
  for (const Variable& slot : adam.variables()) {
    if (slot.shape() != weights[0].shape()) continue;
    CHECK(server_of(slot) == server_of(weights[slots++ / 2]));
  }
  CHECK(slots == 8);
  CHECK(server_of(weights[0]) != server_of(weights[1]));
}

TEST_CASE("an error counts once, for those whose it is") {
  Job job(2, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  const auto train = [&](int64_t rows, int64_t limit) {
    Sequential model({layers::Embedding({.input_dim = limit, .output_dim = 2}), layers::Flatten(),
                      layers::Dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = ops::reshape(ops::mod(ops::arange(0, 2 * rows), 4), {rows, 2}).host();
    return error_of([&] { model.fit(x, ops::zeros({rows, 1}), {.batch_size = 2, .verbose = 0}); });
  };
  std::string good;
  std::thread other([&] {
    const auto own = strategy.scope();
    good = train(40, 4);
  });
  const std::string bad = train(40, 3);
  other.join();
  CHECK(bad.find("take: index 3 is outside of") != std::string::npos);
  CHECK(good == "");
}

TEST_CASE("steps neither schedule others nor wait for them") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const Function inner = function([](const Tensor& x) { return x + 1.0f; });
  const RemoteValue before = coordinator.schedule(inner, Tensor(1.0f));
  const auto within_step = [&](const std::function<void()>& call) {
    const Function outer = function([&](const Tensor& x) {
      call();
      return x;
    });
    return error_of([&] { coordinator.schedule(outer, Tensor(1.0f)); });
  };
  const auto expected = [](const char* call) {
    return fmt::format(
        "FailedPrecondition: ClusterCoordinator: {} was called within a step that is being traced. "
        "A step calls functions by itself; schedule steps, and wait for them, outside of steps.",
        call);
  };
  CHECK(within_step([&] { coordinator.schedule(inner, Tensor(1.0f)); }) == expected("schedule"));
  CHECK(within_step([&] { coordinator.join(); }) == expected("join"));
  CHECK(within_step([&] { before.fetch(); }) == expected("fetch"));
  CHECK(within_step([&] { inner(Tensor(1.0f)); }) == "");
  coordinator.join();
  CHECK(before.fetch().item<float>() == 2);
}

TEST_CASE("a fit that a callback ends leaves no step running") {
  Job job(2, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  Sequential model({layers::Dense({.units = 1})});
  const Optimizer sgd = optimizers::SGD();
  model.compile({.optimizer = sgd, .loss = "mse"});
  const auto stop =
      callbacks::LambdaCallback({.on_train_batch_end = [](int64_t batch, const Logs&) {
        if (batch == 2) raise<Unavailable>("enough");
      }});
  CHECK(error_of([&] {
          model.fit(ops::ones({40, 2}), ops::ones({40, 1}),
                    {.batch_size = 2, .verbose = 0, .callbacks = {stop}});
        }).find("enough") != std::string::npos);
  const auto steps = sgd.iterations();
  CHECK(steps >= 3);
  CHECK(sgd.iterations() == steps);
}

TEST_CASE("accumulated gradients want one server where there are several workers") {
  const auto scheduled = [](int workers, int servers) {
    Job job(workers, servers);
    ParameterServerStrategy strategy({.cluster = job.resolver()});
    ClusterCoordinator coordinator(strategy);
    const auto scope = strategy.scope();
    const Variable w(Tensor(1.0f), {.name = "w"});
    const Variable v(Tensor(1.0f), {.name = "v"});
    const Optimizer sgd = optimizers::SGD({.gradient_accumulation_steps = 2});
    const Function step = function([&] {
      GradientTape tape;
      const Tensor loss = w.value() * v.value();
      sgd.apply_gradients(tape.gradient(loss, {w, v}), {w, v});
      return loss;
    });
    return error_of([&] { coordinator.schedule(step).fetch(); });
  };
  CHECK(scheduled(1, 2) == "");
  CHECK(scheduled(2, 1) == "");
  CHECK(scheduled(2, 2).find("Unimplemented: ParameterServerStrategy: what server ") !=
        std::string::npos);
}

TEST_CASE("a strategy may end while its steps run") {
  Job job(2, 1);
  const Function step = function([](const Tensor& x) { return x + 1.0f; });
  for (int round = 0; round < 5; ++round) {
    ParameterServerStrategy strategy({.cluster = job.resolver()});
    ClusterCoordinator coordinator(strategy);
    // Tasks that served the strategies before serve this one.
    CHECK(coordinator.schedule(step, ops::ones({round + 4})).fetch().shape() == Shape{round + 4});
    for (int i = 0; i < 20; ++i) coordinator.schedule(step, ops::ones({i % 3 + 1}));
  }
}

namespace {

Json with_job(Json json) {
  json.set("job", "j");
  return json;
}

// A worker and a server of a job whose coordinator is played by the test.
struct Tasks {
  Tasks() {
    worker.call("begin", {begin("j", "worker")});
    server.call("begin", {begin("j", "ps")});
  }
  Json begin(const char* name, const char* type) {
    return Json::object(
        {{"job", name}, {"type", type}, {"servers", std::vector<std::string>{address({"ps", 0})}}});
  }
  std::string address(const Task& task) { return job.task(task).target().substr(7); }

  // Defines a step that adds its argument and the variable, with something changed.
  std::string define(const std::function<void(Json&)>& change) {
    Json json = with_job(Json::object(
        {{"signature", "s"},
         {"graph",
          "graph(%0: float32[2], %1: float32[2]) {\n  %2 = add(%0, %1) : float32[2]\n"
          "  return %2\n}\n"},
         {"ahead", "graph(%0: float32[2]) {\n  return\n}\n"},
         {"constants", 0},
         {"has_key", false},
         {"values", Json::array()},
         {"sums", Json::array()},
         {"results", 1},
         {"read", Json::array({Json::object(
                      {{"shape", Shape{2}}, {"shards", Json::array({Json::array({0, "1/0"})})}})})},
         {"taken", Json::array()},
         {"updates", Json::array()}}));
    change(json);
    return error_of([&] { worker.call("define", {json}); });
  }
  void create(const Tensor& value) {
    server.call("create",
                {with_job(Json::object({{"keys", std::vector<std::string>{"1/0"}}})), {value}});
  }
  // An update that adds its argument to the variable.
  void define_sum() {
    server.call(
        "define",
        {with_job(Json::object({{"update", 1},
                                {"graph",
                                 "graph(%0: float32[2]) state(%1 \"w\": float32[2] -> %2) {\n"
                                 "  %2 = add(%1, %0) : float32[2]\n  return\n}\n"},
                                {"keys", std::vector<std::string>{"1/0"}}}))});
  }
  void update(int64_t step, int64_t over, const Tensor& x) {
    server.call("update",
                {with_job(Json::object({{"update", 1}, {"step", step}, {"over", over}})), {x}});
  }
  Tensor value() {
    const Json request = Json::object(
        {{"keys", std::vector<std::string>{"1/0"}}, {"versions", std::vector<int64_t>{-1}}});
    return server.call("read", {with_job(request)}).tensors.at(0);
  }
  std::string run(const Tensor& x) {
    return error_of([&] {
      worker.call("run", {with_job(Json::object({{"signature", "s"}})),
                          {x, Tensor::from<uint32_t>({1, 2})}});
    });
  }

  Job job{1, 1};
  CallClient worker{address({"worker", 0}), {""}};
  CallClient server{address({"ps", 0}), {""}};
};

bool refused(const std::string& error) {
  return error.starts_with("InvalidArgument") || error.starts_with("DataLoss") ||
         error.starts_with("NotFound");
}

}  // namespace

TEST_CASE("steps that don't fit their graphs are refused") {
  Tasks tasks;
  const auto with = [&](const char* key, const Json& value) {
    return tasks.define([&](Json& json) { json.set(key, value); });
  };
  CHECK(tasks.define([](Json&) {}) == "");
  CHECK(refused(with("constants", 5)));
  CHECK(refused(with("constants", -1)));
  CHECK(refused(with("results", 2)));
  CHECK(refused(with("results", -1)));
  CHECK(refused(with("graph", "graph")));
  const auto with_shards = [&](const Json& shards) {
    return with("read", Json::array({Json::object({{"shape", Shape{2}}, {"shards", shards}})}));
  };
  CHECK(refused(with_shards(Json::array())));
  CHECK(refused(with_shards(Json::array({Json::array({99999, "1/0"})}))));
  CHECK(refused(with_shards(Json::array({Json::array({-1, "1/0"})}))));
  CHECK(refused(
      with("updates", Json::array({Json::object(
                          {{"server", 0}, {"update", 1}, {"sent", std::vector<int64_t>{7}}})}))));
  CHECK(refused(
      with("taken", Json::array({Json::object({{"shape", Shape{2}},
                                               {"dtype", "float32"},
                                               {"shards", Json::array({Json::array({0, "1/0"})})},
                                               {"ends", std::vector<int64_t>{}},
                                               {"indices", 0}})}))));
}

TEST_CASE("values that aren't what was said are refused") {
  {
    Tasks others;
    CHECK(others.define([](Json&) {}) == "");
    others.create(ops::ones({5}));
    CHECK(refused(others.run(ops::ones({2}))));
  }
  Tasks tasks;
  CHECK(tasks.define([](Json&) {}) == "");
  tasks.create(ops::ones({2}));
  CHECK(tasks.run(ops::ones({2})) == "");
  CHECK(refused(tasks.run(ops::ones({3}))));
  CHECK(refused(tasks.run(ops::ones({1 << 20}))));
  tasks.define_sum();
  const auto send = [&](const Tensor& x) { return error_of([&] { tasks.update(1, 1, x); }); };
  CHECK(send(ops::ones({2})) == "");
  CHECK(refused(send(ops::ones({3}))));
  CHECK(refused(send(ops::ones({2}, DType::Float64))));
}

TEST_CASE("a step that another worker runs again doesn't update a second time") {
  Tasks tasks;
  tasks.create(ops::zeros({2}));
  tasks.define_sum();
  const auto after = [&](int64_t step, int64_t over) {
    tasks.update(step, over, ops::ones({2}));
    return tasks.value().to_vector<float>()[0];
  };
  CHECK(after(3, 1) == 1);
  CHECK(after(3, 1) == 1);  // of the second worker
  CHECK(after(2, 1) == 2);
  CHECK(after(4, 2) == 3);
  CHECK(after(2, 1) == 3);
  CHECK(after(5, 5) == 4);
  CHECK(after(3, 1) == 4);  // of a worker that has hung for long
  CHECK(after(1, 1) == 4);
  CHECK(after(6, 5) == 5);
}

TEST_CASE("tasks serve the coordinator that came last") {
  Tasks tasks;
  tasks.create(ops::ones({2}));
  tasks.server.call("begin", {tasks.begin("next", "ps")});
  tasks.worker.call("begin", {tasks.begin("next", "worker")});
  const auto another = [&](CallClient& task, const std::string& method, const Json& json) {
    return error_of([&] {
             task.call(method, {json});
           }).find("serves another coordinator by now. A job has one.") != std::string::npos;
  };
  CHECK(another(tasks.server, "read", with_job(Json::object({{"keys", Json::array()}}))));
  // A coordinator that was thought to be dead doesn't take them back.
  CHECK(another(tasks.server, "begin", tasks.begin("j", "ps")));
  CHECK(another(tasks.worker, "begin", tasks.begin("j", "worker")));
  tasks.worker.call("begin", {tasks.begin("next", "worker")});
}

TEST_CASE("a coordinator that comes again finds values kept, and steps forgotten") {
  Tasks tasks;
  CHECK(tasks.define([](Json&) {}) == "");
  tasks.create(ops::ones({2}));
  CHECK(tasks.run(ops::ones({2})) == "");
  tasks.server.call("begin", {tasks.begin("j", "ps")});
  tasks.worker.call("begin", {tasks.begin("j", "worker")});
  CHECK(tasks.run(ops::ones({2})).starts_with("NotFound"));
  CHECK(tasks.define([](Json&) {}) == "");
  CHECK(tasks.run(ops::ones({2})) == "");
}

TEST_CASE("a coordinator that takes a task for another one is told so") {
  Tasks tasks;
  CHECK(error_of([&] { tasks.worker.call("begin", {tasks.begin("k", "ps")}); }) ==
        "FailedPrecondition: The coordinator takes the worker 0 at " +
            tasks.address({"worker", 0}) +
            " for a task of type ps. Give all tasks the same cluster.");
}

TEST_CASE("steps don't wait for workers where a server is gone") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const Function step = function([](const Tensor& x) { return x + 1.0f; });
  CHECK(coordinator.schedule(step, Tensor(1.0f)).fetch().item<float>() == 2);
  job.stop({"worker", 0});
  job.stop({"ps", 0});
  const RemoteValue waits = coordinator.schedule(step, Tensor(1.0f));
  CHECK(error_of([&] { waits.fetch(); }).starts_with("Unavailable: Parameter server 0 is lost"));
  CHECK(error_of([&] { coordinator.join(); }).starts_with("Unavailable: Parameter server 0 is"));
}

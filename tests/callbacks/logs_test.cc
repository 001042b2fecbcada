// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/logs.h"

#include <doctest/doctest.h>

#include <sstream>

#include "framework/core/tensor.h"
#include "framework/ops/ops.h"
#include "tests/support/errors.h"

namespace cornu {
namespace {

using test::message_of;

TEST_CASE("reading a metric that isn't there is NotFound, and adds none") {
  Logs logs{{"accuracy", 1}, {"loss", 2}};
  const std::string expected =
      "Logs: there is no metric named 'losss'. Did you mean 'loss'? Known: accuracy, loss.";
  CHECK(message_of<NotFound>([&] { std::as_const(logs)["losss"]; }) == expected);
  CHECK(message_of<NotFound>([&] { static_cast<void>(logs["losss"] * 2); }) == expected);
  CHECK(message_of<NotFound>([&] { static_cast<void>(Logs(logs)["losss"] * 2); }) == expected);
  CHECK(logs.names() == std::vector<std::string>{"accuracy", "loss"});

  History history;
  history.add(0, logs);
  CHECK(history["loss"] == std::vector<double>{2});
  CHECK(message_of<NotFound>([&] { history["acc"]; }) ==
        "History: there is no metric named 'acc'. Did you mean 'accuracy'? Known: accuracy, loss.");
  CHECK(history.size() == 2);
}

TEST_CASE("what is read from a temporary outlives it") {
  const auto make = [] {
    History history;
    history.add(0, {{"loss", 2}});
    history.add(1, {{"loss", 1}});
    return history;
  };
  std::vector<double> seen;
  for (const double loss : make()["loss"]) seen.push_back(loss);
  CHECK(seen == std::vector<double>{2, 1});
  const auto& losses = make().at("loss");
  CHECK(losses == std::vector<double>{2, 1});
}

template <class T>
concept FindsInTemporary = requires {
  T().find("loss");
};
static_assert(!FindsInTemporary<History> && !FindsInTemporary<Logs>);

// An integer index would be taken for a null pointer to a name.
template <class T>
concept HasNumber = requires(T& named) {
  named[0];
}
|| requires(T& named) { named.at(0); };
static_assert(!HasNumber<Logs> && !HasNumber<const Logs> && !HasNumber<History>);

TEST_CASE("metrics are read and written by name") {
  Logs logs;
  logs["loss"] = 0.5;
  logs["twice"] = logs["loss"] * 2;
  logs["same"] = logs["twice"];
  logs["loss"] = 0.25;
  const double loss = logs["loss"];
  CHECK(loss == 0.25);
  CHECK(logs.at("twice") == 1);
  CHECK(logs["same"] == 1);
  CHECK(logs["loss"] < logs["same"]);
  CHECK(fmt::format("{:.3f}", logs["loss"]) == "0.250");
  std::ostringstream text;
  text << logs["loss"];
  CHECK(text.str() == "0.25");

  NamedValues<Tensor> results;
  results["loss"] = Tensor::scalar(2.0F);
  results["half"] = results["loss"] * 0.5;
  CHECK(results["half"]->item<float>() == 1.0F);
  CHECK(results.at("loss").item<float>() == 2.0F);
}

}  // namespace
}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// Downloads MNIST's original compressed files, on machines that have them to serve.
#include <doctest/doctest.h>

#include "data/datasets/mnist.h"
#include "tests/data/support.h"
#include "tests/support/http_server.h"
#include "tests/support/skip.h"

using namespace cornu;
using namespace cornu::testing;
namespace fs = std::filesystem;

TEST_CASE("MNIST is downloaded, checked, and kept unpacked") {
  const char* datasets = std::getenv("CORNU_DATASETS");
  const fs::path folder = fs::path(datasets ? datasets : "") / "mnist";
  HttpServer::Files files;
  for (const char* name : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                           "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}) {
    if (!fs::exists(folder / name)) {
      test::skip_test(fmt::format("there is no {} in $CORNU_DATASETS/mnist", name));
    }
    files[fmt::format("/{}", name)] = read_file(folder / name);
  }
  const TempFolder scratch;
  const EnvironmentScope no_datasets("CORNU_DATASETS", std::nullopt);
  const EnvironmentScope cache("XDG_CACHE_HOME", (scratch / "cache").string());
  {
    const HttpServer server(files, {.break_after = 100'000});
    const EnvironmentScope url("CORNU_MNIST_URL", server.url());
    auto [train, test] = datasets::mnist::load_data();
    CHECK(train.x.shape() == Shape{60'000, 28, 28});
    CHECK(server.requests().size() == 5);
  }
  const EnvironmentScope dead("CORNU_MNIST_URL", HttpServer().url());
  auto [train, test] = datasets::mnist::load_data();  // from the cache
  CHECK(test.y.data<uint8_t>()[0] == 7);
  CHECK(fs::file_size(scratch / "cache/cornu/datasets/mnist/train-images-idx3-ubyte") ==
        16 + 60'000 * 784);
}

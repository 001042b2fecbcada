// SPDX-License-Identifier: Apache-2.0
// Measures compiling the training step of a model written by Keras's to_json(): SGD, sparse
// cross-entropy of logits, float32. Prints, on one line: number of trained weights, nodes of the
// graph as traced and after all passes, seconds for tracing and for compiling, bytes of memory for
// intermediate values, and by how many bytes the process's memory grew in the first two steps (the
// peak of the resident set minus its size before them). Driven by compare.py.
//   bench_compile MODEL.json BATCH_SIZE
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

using namespace cornu;

namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  check<NotFound>(file.good(), "{}: can't be read.", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Reads a line of /proc/self/status, in bytes.
int64_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::atoll(line.c_str() + name.size() + 1) * 1024;
  }
  return 0;
}

// Resets the peak.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

int run(const std::string& path, int64_t batch_size) {
  set_random_seed(0);
  Model model = model_from_json(read_text(path));
  const Shape inputs = model.input_shape();
  const int64_t classes = model.output_shape().back();
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 1e-3}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  Shape shape{batch_size};
  for (int64_t axis = 1; axis < inputs.rank(); ++axis) shape.push_back(inputs[axis]);
  const Tensor x = random::uniform(shape, {.seed = 1});
  const Tensor y = random::randint({batch_size}, 0, classes, {.seed = 2});
  forget_peak();
  const int64_t before = memory("VmRSS");
  for (int step = 0; step < 2; ++step) model.train_on_batch(x, y);
  const int64_t growth = memory("VmHWM") - before;
  int64_t weights = 0;
  for (const Variable& variable : model.trainable_variables()) {
    weights += variable.shape().num_elements();
  }
  const CompileReport report = model.compile_reports().at(0);
  fmt::print(stderr, "{} of {}\n", report.name, report.signature);
  fmt::print("{} {} {} {:.3f} {:.3f} {} {}\n", weights, report.traced_nodes, report.compiled_nodes,
             report.tracing_seconds, report.compiling_seconds, report.workspace_bytes, growth);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_compile MODEL.json BATCH_SIZE\n");
    return 2;
  }
  try {
    return run(argv[1], std::atoll(argv[2]));
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

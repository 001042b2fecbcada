// SPDX-License-Identifier: Apache-2.0
// The measured trainings in PyTorch's C++ front end; same protocol as steps/main.cc, same networks
// and epochs as peers/torch_steps.py.
//   libtorch_steps WORK BATCH_SIZE STEPS [channels_last] [optim]
// optim: the front end's own optimizers instead of the fused kernels called from Python.
#include <torch/torch.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/peers/libtorch/transformers.h"

namespace nn = torch::nn;

namespace {

constexpr double kRate = 1e-3;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void zero_grad() = 0;
  virtual void step() = 0;
};

// The kernels used by Python's optimizers with fused=True: a single pass over all parameters.
class FusedOptimizer : public Optimizer {
 public:
  FusedOptimizer(std::vector<torch::Tensor> parameters, bool adam)
      : parameters_(std::move(parameters)), adam_(adam) {
    if (!adam) return;
    for (const torch::Tensor& parameter : parameters_) {
      means_.push_back(torch::zeros_like(parameter));
      squares_.push_back(torch::zeros_like(parameter));
      steps_.push_back(torch::zeros({}));
    }
  }

  void zero_grad() override {
    for (torch::Tensor& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
  }

  void step() override {
    const torch::NoGradGuard guard;
    std::vector<torch::Tensor> gradients;
    gradients.reserve(parameters_.size());
    for (const torch::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    if (adam_) {
      torch::_foreach_add_(steps_, 1);
      torch::_fused_adam_(parameters_, gradients, means_, squares_, {}, steps_, kRate, 0.9, 0.999,
                          0.0, 1e-8, false, false);
    } else {
      torch::_fused_sgd_(parameters_, gradients, {}, 0.0, 0.0, kRate, 0.0, false, false, true);
    }
  }

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> means_;
  std::vector<torch::Tensor> squares_;
  std::vector<torch::Tensor> steps_;
  bool adam_;
};

class FrontEndOptimizer : public Optimizer {
 public:
  FrontEndOptimizer(std::vector<torch::Tensor> parameters, bool adam) {
    if (adam) {
      optimizer_ = std::make_unique<torch::optim::Adam>(std::move(parameters), kRate);
    } else {
      optimizer_ = std::make_unique<torch::optim::SGD>(std::move(parameters), kRate);
    }
  }
  void zero_grad() override { optimizer_->zero_grad(); }
  void step() override { optimizer_->step(); }

 private:
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

struct Work {
  nn::Sequential model;
  std::vector<int64_t> example;
  int64_t classes = 0;  // of characters in and out; 0: numbers in, ten classes out
  std::unique_ptr<Optimizer> optimizer = nullptr;
};

nn::Conv2d plain_conv(int64_t inputs, int64_t outputs, int64_t padding) {
  return nn::Conv2d(nn::Conv2dOptions(inputs, outputs, 3).padding(padding));
}

// Options of a convolution besides its channels.
struct Conv {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t groups = 1;
  bool active = true;
};

// Convolution, normalization and activation, as in MobileNetV2 or ResNet50.
struct Style {
  bool bias;
  double epsilon;
  double momentum;
  bool six;  // ReLU6
};
constexpr Style kMobile = {false, 1e-3, 0.001, true};
constexpr Style kResidual = {true, 1.001e-5, 0.01, false};

void append(nn::Sequential& to, const Style& style, int64_t inputs, int64_t outputs,
            const Conv& conv = {}) {
  to->push_back(nn::Conv2d(nn::Conv2dOptions(inputs, outputs, conv.kernel)
                               .stride(conv.stride)
                               .padding(conv.kernel / 2)
                               .groups(conv.groups)
                               .bias(style.bias)));
  to->push_back(
      nn::BatchNorm2d(nn::BatchNorm2dOptions(outputs).eps(style.epsilon).momentum(style.momentum)));
  if (!conv.active) return;
  if (style.six) {
    to->push_back(nn::ReLU6(nn::ReLU6Options().inplace(true)));
  } else {
    to->push_back(nn::ReLU(nn::ReLUOptions().inplace(true)));
  }
}

// x, or a shortcut from it, plus the output of the body.
struct ResidualImpl : nn::Module {
  ResidualImpl(nn::Sequential body, nn::Sequential shortcut, bool active)
      : body_(register_module("body", body)), active_(active) {
    if (!shortcut->is_empty()) shortcut_ = register_module("shortcut", shortcut);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor sum = (shortcut_ ? shortcut_->forward(x) : x) + body_->forward(x);
    return active_ ? torch::relu_(sum) : sum;
  }

  nn::Sequential body_;
  nn::Sequential shortcut_{nullptr};
  bool active_;
};
TORCH_MODULE(Residual);

void append_classifier(nn::Sequential& model, int64_t channels) {
  model->push_back(nn::AdaptiveAvgPool2d(1));
  model->push_back(nn::Flatten());
  model->push_back(nn::Linear(channels, 10));
}

nn::Sequential mobilenet_v2() {
  struct Block {
    int64_t filters, stride, expansion;
  };
  const Block blocks[] = {{16, 1, 1}, {24, 2, 6},  {24, 1, 6},  {32, 2, 6},  {32, 1, 6}, {32, 1, 6},
                          {64, 2, 6}, {64, 1, 6},  {64, 1, 6},  {64, 1, 6},  {96, 1, 6}, {96, 1, 6},
                          {96, 1, 6}, {160, 2, 6}, {160, 1, 6}, {160, 1, 6}, {320, 1, 6}};
  nn::Sequential model;
  append(model, kMobile, 3, 32, {.kernel = 3, .stride = 2});
  int64_t channels = 32;
  for (const auto& [filters, stride, expansion] : blocks) {
    const int64_t inner = expansion * channels;
    nn::Sequential body;
    if (expansion > 1) append(body, kMobile, channels, inner);
    append(body, kMobile, inner, inner, {.kernel = 3, .stride = stride, .groups = inner});
    append(body, kMobile, inner, filters, {.active = false});
    if (stride == 1 && channels == filters) {
      model->push_back(Residual(body, nn::Sequential(), false));
    } else {
      model->extend(*body);
    }
    channels = filters;
  }
  append(model, kMobile, 320, 1280);
  append_classifier(model, 1280);
  return model;
}

nn::Sequential resnet50() {
  struct Stage {
    int64_t filters, blocks, stride;
  };
  nn::Sequential model;
  append(model, kResidual, 3, 64, {.kernel = 7, .stride = 2});
  model->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t channels = 64;
  for (const auto& [filters, blocks, stride] :
       {Stage{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}) {
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t step = block == 0 ? stride : 1;
      nn::Sequential body;
      nn::Sequential shortcut;
      append(body, kResidual, channels, filters, {.stride = step});
      append(body, kResidual, filters, filters, {.kernel = 3});
      append(body, kResidual, filters, 4 * filters, {.active = false});
      if (block == 0) {
        append(shortcut, kResidual, channels, 4 * filters, {.stride = step, .active = false});
      }
      model->push_back(Residual(body, shortcut, true));
      channels = 4 * filters;
    }
  }
  append_classifier(model, 2048);
  return model;
}

nn::Sequential cifar() {
  return nn::Sequential(plain_conv(3, 32, 1), nn::ReLU(), plain_conv(32, 32, 0), nn::ReLU(),
                        nn::MaxPool2d(2), plain_conv(32, 64, 1), nn::ReLU(), plain_conv(64, 64, 0),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(64 * 36, 512),
                        nn::ReLU(), nn::Dropout(0.5), nn::Linear(512, 10));
}

// The output of a recurrent layer at the last step.
template <class Layer>
struct LastOutputImpl : nn::Module {
  explicit LastOutputImpl(Layer layer) : layer_(register_module("layer", layer)) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return std::get<0>(layer_->forward(x)).select(1, -1);
  }
  Layer layer_;
};

template <class Layer, class Options>
nn::Sequential recurrent() {
  const Layer layer(Options(64, 128).batch_first(true));
  return nn::Sequential(std::make_shared<LastOutputImpl<Layer>>(layer), nn::Linear(128, 10));
}

Work make_work(const std::string& name) {
  Work work;
  if (name == "mlp") {
    work.model = nn::Sequential(nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 10));
    work.example = {784};
  } else if (name == "cnn") {
    work.model = nn::Sequential(plain_conv(1, 32, 0), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                                nn::Linear(13 * 13 * 32, 64), nn::ReLU(), nn::Linear(64, 10));
    work.example = {1, 28, 28};
  } else if (name == "cifar") {
    work.model = cifar();
    work.example = {3, 32, 32};
  } else if (name == "lstm" || name == "gru") {
    work.model = name == "lstm" ? recurrent<nn::LSTM, nn::LSTMOptions>()
                                : recurrent<nn::GRU, nn::GRUOptions>();
    work.example = {50, 64};
  } else if (name == "transformer") {
    work.model = nn::Sequential(transformers::Block(), nn::Linear(512, 10));
    work.example = {128, 512};
  } else if (name == "gpt") {
    work.model = nn::Sequential(transformers::Gpt());
    work.example = {256};
    work.classes = transformers::kVocabulary;
  } else if (name == "mobilenet") {
    work.model = mobilenet_v2();
    work.example = {3, 96, 96};
  } else {
    TORCH_CHECK(name == "resnet",
                "expected mlp, cnn, cifar, lstm, gru, transformer, gpt, mobilenet or resnet, got ",
                name);
    work.model = resnet50();
    work.example = {3, 64, 64};
  }
  return work;
}

struct Data {
  torch::Tensor x;  // row-major, as in memory
  torch::Tensor y;
  bool channels_last;
};

// The same work as fit: shuffles, accumulates the mean loss and the accuracy, reads them once.
void train_epoch(Work& work, const Data& data, int64_t batch_size) {
  const int64_t rows = data.x.size(0);
  const torch::Tensor order = torch::randperm(rows);
  torch::Tensor total = torch::zeros({});
  torch::Tensor correct = torch::zeros({}, torch::kLong);
  for (int64_t i = 0; i < rows; i += batch_size) {
    const torch::Tensor index = order.slice(0, i, i + batch_size);
    const torch::Tensor target = data.y.index_select(0, index);
    torch::Tensor x = data.x.index_select(0, index);
    if (data.channels_last) x = x.permute({0, 3, 1, 2});
    work.optimizer->zero_grad();
    const torch::Tensor output = work.model->forward(x).flatten(0, -2);
    const torch::Tensor loss = nn::functional::cross_entropy(output, target.flatten());
    loss.backward();
    work.optimizer->step();
    const torch::NoGradGuard guard;
    total += loss;
    correct += (output.argmax(1) == target.flatten()).sum();
  }
  total.item<float>();
  correct.item<int64_t>();
}

struct Form {
  bool channels_last = false;
  bool optim = false;
};

int run(const std::string& name, int64_t batch_size, int64_t steps, const Form& form) {
  torch::manual_seed(0);
  Work work = make_work(name);
  std::vector<int64_t> shape = {batch_size * steps};
  shape.insert(shape.end(), work.example.begin(), work.example.end());
  const bool characters = work.classes > 0;
  const auto random = [&] { return torch::randint(0, work.classes, shape, torch::kLong); };
  Data data{characters ? random() : torch::rand(shape),
            characters ? random() : torch::randint(0, 10, {shape[0]}, torch::kLong),
            form.channels_last};
  if (form.channels_last) {
    data.x = data.x.permute({0, 2, 3, 1}).contiguous();
    for (torch::Tensor& parameter : work.model->parameters()) {
      if (parameter.dim() == 4) {
        parameter.set_data(parameter.detach().contiguous(torch::MemoryFormat::ChannelsLast));
      }
    }
  }
  work.model->train();
  const bool adam = name != "cnn" && name != "resnet";
  if (form.optim) {
    work.optimizer = std::make_unique<FrontEndOptimizer>(work.model->parameters(), adam);
  } else {
    work.optimizer = std::make_unique<FusedOptimizer>(work.model->parameters(), adam);
  }
  train_epoch(work, data, batch_size);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    train_epoch(work, data, batch_size);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    std::cout << taken.count() / static_cast<double>(steps) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: libtorch_steps WORK BATCH_SIZE STEPS [channels_last] [optim]\n";
    return 2;
  }
  Form form;
  for (int i = 4; i < argc; ++i) {
    form.channels_last |= std::string(argv[i]) == "channels_last";
    form.optim |= std::string(argv[i]) == "optim";
  }
  return run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), form);
}

// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/xla_backend.h"

#include "framework/backends/xla/executable.h"
#include "framework/core/error.h"
#include "framework/graph/execution_config.h"
#include "framework/graph/op_cache.h"
#include "framework/graph/single_op.h"

namespace cornu::xla {
namespace {

constexpr size_t kCachedOps = 1024;  // cached eager ops

class XlaBackend : public Backend {
 public:
  explicit XlaBackend(Client& client) : client_(client) {}

  std::string name() const override { return "xla"; }

  std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) override {
    passes::Dump dump(options.name);
    auto executable = std::make_unique<XlaExecutable>(
        options.optimize ? optimize(std::move(graph), dump) : std::move(graph), client_);
    if (dump.is_wanted()) dump.write_text("stablehlo", executable->text(1).text);
    return executable;
  }

  void run(std::span<Launch> launches) override { run_launches(launches, client_); }

  std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                              const Attributes& attributes,
                              std::span<const TensorType> output_types,
                              const Device& device) override {
    // The same array under a new handle: tapes distinguish tensors by identity.
    if (op.name == "identity" || op.name == "stop_gradient") {
      return {inputs[0].with_shape(output_types[0].shape)};
    }
    std::vector<TensorType> input_types;
    for (const Tensor& input : inputs) input_types.push_back(type_of(input));
    const KernelSpec spec{op, attributes, input_types, output_types};
    return run_op(*prepared(spec), inputs, device.index, client_);
  }

  Tensor to_device(const Tensor& tensor, const Device& device) override {
    check_device(device);
    if (tensor.on_host()) {
      return tensor_of(client_.upload(tensor.raw(), type_of(tensor), device.index));
    }
    return tensor_of(client_.copy(*array_of(tensor, client_), device.index));
  }

  int device_count() const override { return client_.device_count(); }

  std::map<std::string, std::string> device_details(int index) const override {
    return client_.details(index);
  }

  std::pair<size_t, size_t> memory_usage(const Device& device) override {
    check_device(device);
    return client_.memory_usage(device.index);
  }

  bool supports(const OpDef& op, std::span<const TensorType> inputs, const Attributes& attributes,
                std::span<const TensorType> outputs) const override {
    return lowering_table().supports({op, attributes, inputs, outputs});
  }

 private:
  using Prepared = std::shared_ptr<XlaExecutable>;

  void check_device(const Device& device) const {
    check<InvalidArgument>(device.index < client_.device_count(),
                           "{}: there is no such device, expected an index below {}.", device,
                           client_.device_count());
  }

  Prepared prepared(const KernelSpec& spec) {
    const int settings = config::tensor_float_32_execution_enabled() ? 1 : 0;
    const std::lock_guard lock(mutex_);
    return ops_.get(spec, settings, [&] {
      return std::make_unique<Prepared>(
          std::make_shared<XlaExecutable>(single_op_graph(spec), client_));
    });
  }

  Client& client_;
  std::mutex mutex_;
  OpCache<Prepared> ops_{kCachedOps};
};

}  // namespace

Backend& xla_backend(Client& client) {
  static auto* backend = new XlaBackend(client);
  return *backend;
}

}  // namespace cornu::xla

namespace cornu {

Backend* find_xla_backend(std::string& why) {
  std::unique_ptr<xla::Plugin> plugin = xla::find_plugin(why);
  if (!plugin) return nullptr;
  const std::string file = plugin->file();
  try {
    auto client = std::make_unique<xla::Client>(std::move(plugin));
    if (client->device_count() > 0) return &xla::xla_backend(*client.release());
    why = fmt::format("the PJRT plugin {} has found no devices.", file);
  } catch (const Error& error) {
    why = fmt::format("the PJRT plugin {} can't be used here. {}", file, error.what());
  }
  return nullptr;
}

}  // namespace cornu

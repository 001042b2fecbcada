// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/to_device.h"
#include "data/transforms/transforms.h"
#include "framework/graph/devices.h"
#include "framework/graph/dispatch.h"

namespace cornu::data {
namespace {

class CopyStream : public Stream<Element> {
 public:
  CopyStream(StreamPtr<Element> input, const Device& device)
      : input_(std::move(input)), device_(device) {}

  bool next(Element& element) override {
    if (!input_.next(element)) return false;
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : element.tensors()) tensors.push_back(tensor.to(device_));
    element = element.with(std::move(tensors));
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override { input_.leave_out(count, left_out); }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  Input<Element> input_;
  Device device_;
};

class CopiedToDevice : public Node {
 public:
  CopiedToDevice(NodePtr input, const Device& device) : Node({std::move(input)}), device_(device) {
    for (const TensorType& type : spec().types) {
      check<InvalidArgument>(type.dtype != DType::String,
                             "copy_to_device: strings are the host's, and the elements are {}. "
                             "Turn them into numbers first, or copy before they come in.",
                             spec());
    }
    const DeviceScope there(device);  // verifies that the device exists
    static_cast<void>(Tensor::scalar(0.0f).to(device));
  }

  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  // Omits the device, which doesn't affect the elements.
  std::string describe() const override { return "copy_to_device"; }
  void write(LinkWriter& link) const override {
    link.kind("copy_to_device")("device", device_.to_string());
  }
  StreamPtr<Element> elements(Pass pass) const override {
    return std::make_unique<CopyStream>(input().stream(pass), device_);
  }

 private:
  Device device_;
};

}  // namespace

NodePtr read_copy_to_device(LinkReader& link) {
  return std::make_shared<CopiedToDevice>(link.input(),
                                          Device::parse(link.get<std::string>("device")));
}

DatasetTransform copy_to_device(std::string_view device) {
  return [to = Device::parse(device)](const Dataset& dataset) {
    return Dataset(std::make_shared<CopiedToDevice>(dataset.node(), to));
  };
}

DatasetTransform prefetch_to_device(std::string_view device, int64_t buffer_size) {
  return [copy = copy_to_device(device), buffer_size](const Dataset& dataset) {
    return copy(dataset).prefetch(buffer_size);
  };
}

}  // namespace cornu::data

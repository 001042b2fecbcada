// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

class WithOptions : public ItemTransform<WithOptions> {
 public:
  WithOptions(NodePtr input, const Options& options)
      : ItemTransform(std::move(input)), options_(options) {}

  Options options() const override { return options_; }
  bool works_on_parts() const override { return true; }
  std::string describe() const override { return "with_options"; }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    return open_input<Item>(pass);
  }

 private:
  Options options_;
};

}  // namespace

NodePtr make_with_options(NodePtr input, const Options& options) {
  return std::make_shared<WithOptions>(std::move(input), options);
}

}  // namespace cornu::data

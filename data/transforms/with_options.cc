// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, Options& options) {
  fields.choice("auto_shard_policy", options.distribute.auto_shard_policy,
                {"auto", "data", "file", "record", "hint", "off"});
  fields.hint("autotune", options.autotune.enabled);
  fields.hint("cpu_budget", options.autotune.cpu_budget);
  fields.hint("ram_budget", options.autotune.ram_budget);
  fields("deterministic", options.deterministic);
  fields.hint("statistics", options.statistics);
}

namespace {

class WithOptions : public ItemTransform<WithOptions> {
 public:
  WithOptions(NodePtr input, const Options& options)
      : ItemTransform(std::move(input)), options_(options) {
    for (const int64_t budget : {options.autotune.cpu_budget, options.autotune.ram_budget}) {
      check<InvalidArgument>(budget >= 0, "with_options: expected budgets of at least 0, got {}.",
                             budget);
    }
  }

  const Options* own_options() const override { return &options_; }
  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  // Includes the options that affect positions.
  std::string describe() const override {
    if (!options_.deterministic) return "with_options";
    return *options_.deterministic ? "with_options(in order)" : "with_options(in any order)";
  }
  void write(LinkWriter& link) const override { link.kind("with_options").options(options_); }

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

NodePtr read_with_options(LinkReader& link) {
  return make_with_options(link.input(), link.options<Options>());
}

}  // namespace cornu::data

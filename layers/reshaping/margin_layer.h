// SPDX-License-Identifier: Apache-2.0
// Code shared by layers that pad or crop spatial axes. Internal: included by their .cc files.
#pragma once

#include <vector>

#include "framework/core/checked.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

inline std::vector<Margin> margins_of(const Size2& sides) { return {{sides[0], sides[1]}}; }
inline std::vector<Margin> margins_of(const Margins2& margins) {
  return {margins.height(), margins.width()};
}
inline std::vector<Margin> margins_of(const Margins3& margins) { return margins.axes(); }

// A layer whose spatial axes have these margins, given by the option `what`.
template <class Options>
class MarginLayer : public KerasLayerOf<Options> {
 protected:
  using Base = KerasLayerOf<Options>;

  MarginLayer(const char* class_name, const Options& options, const char* what,
              std::vector<Margin> margins)
      : Base(class_name, options), margins_(std::move(margins)) {
    if constexpr (requires { options.data_format; }) {
      this->options_.data_format = check_data_format(this->label(), options.data_format);
    }
    for (const auto& [before, after] : margins_) {
      this->require(before >= 0 && after >= 0, "expected {} >= 0, got ({}, {}).", what, before,
                    after);
      checked_add(before, after, this->label());
    }
  }

  void check_input(const Shape& shape) const override {
    require_spatial(this->label(), shape, static_cast<int64_t>(margins_.size()));
  }

  const std::vector<Margin>& margins() const { return margins_; }

 private:
  std::vector<Margin> margins_;
};

}  // namespace cornu::layers

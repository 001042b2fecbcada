// SPDX-License-Identifier: Apache-2.0
#include "data/windows.h"

#include "data/dataset.h"
#include "data/sources/sources.h"
#include "data/transforms/windows_node.h"
#include "framework/core/user_code.h"

namespace cornu::data {

const std::shared_ptr<const WindowSource>& Windows::source() const {
  check<FailedPrecondition>(source_ != nullptr,
                            "Windows: they were moved from. Copy them instead: copies share.");
  return source_;
}

Dataset Windows::flat_map(std::function<Dataset(const Dataset&)> f,
                          const FlatMapOptions& options) const {
  const auto make = [f = given_function(std::move(f), "window"),
                     source = source()](const Window& window) {
    return f(Dataset(make_window_elements(window, source->input()->spec()))).node();
  };
  return Dataset(make_of_windows(source(), make, options, false));
}

Dataset Windows::map(std::function<Element(const Dataset&)> f,
                     const FlatMapOptions& options) const {
  const auto make = [f = given_function(std::move(f), "window"),
                     source = source()](const Window& window) {
    return make_tensors(f(Dataset(make_window_elements(window, source->input()->spec()))));
  };
  return Dataset(make_of_windows(source(), make, options, true));
}

std::optional<int64_t> Windows::cardinality() const { return source()->cardinality(); }

struct Windows::Cursor::State {
  std::shared_ptr<const WindowSource> source;
  StreamPtr<Window> windows;
  Dataset current;
};

Windows::Cursor::Cursor(std::shared_ptr<const WindowSource> source) {
  const Pass pass = Pass().below(source->input()->passes().begin("windows"));
  auto windows = source->open(pass);
  const Dataset none(make_window_elements({}, source->input()->spec()));
  state_ = std::make_shared<State>(State{std::move(source), std::move(windows), none});
  ++*this;
}

const Dataset& Windows::Cursor::operator*() const { return state_->current; }

Windows::Cursor& Windows::Cursor::operator++() {
  Window window;
  more_ = state_->windows->next(window);
  if (more_) {
    state_->current = Dataset(make_window_elements(window, state_->source->input()->spec()));
  }
  return *this;
}

Windows::Cursor Windows::begin() const { return Cursor(source()); }

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
// The result of Dataset::window.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "data/element.h"
#include "data/options.h"

namespace cornu::data {

class Dataset;
class WindowSource;

// Windows over a dataset, each of which is a finite dataset. (tf.data yields a tuple of datasets if
// elements are tuples; here a window is one dataset of such tuples.)
//
//   auto threes = Dataset::range(9).window(3).flat_map(
//       [](const Dataset& window) { return window.batch(3); });
//   for (const Dataset& window : dataset.window(2)) …
//
// A cheap handle; thread-safe.
class Windows {
 public:
  explicit Windows(std::shared_ptr<const WindowSource> source) : source_(std::move(source)) {}

  // Maps each window to a dataset with `f` and concatenates the elements of these datasets. See
  // Dataset::flat_map.
  Dataset flat_map(std::function<Dataset(const Dataset& window)> f,
                   const FlatMapOptions& options = {}) const;
  // Maps each window to an element: `w.reduce(…)`, `w.batch(3).get_single_element()`. `f` runs on
  // the host, like flat_map's function.
  Dataset map(std::function<Element(const Dataset& window)> f,
              const FlatMapOptions& options = {}) const;

  // The number of windows; see Dataset::cardinality.
  std::optional<int64_t> cardinality() const;

  class Cursor;
  Cursor begin() const;
  std::default_sentinel_t end() const { return {}; }

 private:
  const std::shared_ptr<const WindowSource>& source() const;

  std::shared_ptr<const WindowSource> source_;
};

class Windows::Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Dataset;
  using difference_type = std::ptrdiff_t;

  explicit Cursor(std::shared_ptr<const WindowSource> source);
  const Dataset& operator*() const;
  Cursor& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Cursor& cursor, std::default_sentinel_t) { return !cursor.more_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
  bool more_ = false;
};

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
// Input pipelines, modeled on tf.data.
#pragma once

#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset_function.h"
#include "data/element.h"
#include "data/generator.h"
#include "data/map_function.h"
#include "data/options.h"
#include "data/saved_dataset.h"
#include "data/statistics.h"
#include "data/windows.h"
#include "framework/core/json.h"
#include "framework/strategy/batch_source.h"

namespace cornu {
struct SourcePosition;
}

namespace cornu::data {

class Node;
class NestedDatasets;

// One pass over a dataset. Must be used by one thread at a time; keeps its dataset alive. Its
// background threads end with it. Using a moved-from iterator throws FailedPrecondition.
class Iterator {
 public:
  explicit Iterator(std::shared_ptr<const Node> node) : Iterator(node, node) {}
  // `counter`, a node that `node` was derived from, numbers the passes, separately for each `part`.
  Iterator(std::shared_ptr<const Node> node, std::shared_ptr<const Node> counter,
           std::string part = "");
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  // Returns false at the end. Throws the errors of map functions and readers; after an error, only
  // save() may be called.
  bool next(Element& element);

  // Returns the exact position, as described for BatchIterator: the number of the pass, the number
  // of elements that next() has returned and, where these aren't enough, the state of each
  // transform ("state"), e.g. how much of its input a filter has consumed or which elements shuffle
  // holds. Restoring skips the elements already returned without computing maps, batches or later
  // passes for them; elements that were buffered, as in a shuffle's buffer, are computed again.
  // After an error, the position is the one before the failed element, and restoring it goes
  // through all elements before it.
  Json save() const;
  // May be called on a new iterator only. Throws FailedPrecondition when the position belongs to
  // another pipeline, DataLoss when it is damaged.
  void restore(const Json& position);
  // Like restore(), but also accepts the position of a pipeline that differs only in its batch
  // size; see BatchIterator.
  void restore_examples(const Json& position);

  // Statistics of this pass so far; see Dataset::stats.
  Statistics stats() const;

 private:
  struct State;
  State& state() const;
  void go_to(const SourcePosition& saved, const Json& position);
  std::unique_ptr<State> state_;
};

// A cheap handle to an immutable chain of transforms. Evaluation is lazy: nothing is computed until
// the dataset is iterated. Copies share the chain. Thread-safe; each iterator belongs to one
// thread.
//
// Every pass over a handle, and every repetition of repeat(), shuffles in a new order. With seeds
// (passed explicitly or from set_random_seed), two runs of a program get the same passes, at any
// parallelism.
//
//   auto dataset = data::Dataset::from_tensor_slices({x, y}).shuffle(10'000).batch(64);
//   for (const auto& [images, labels] : dataset) …
//
// Converts to a BatchSource for `fit`, `evaluate` and `predict`: elements with one component are x,
// with two (x, y), with three (x, y, sample_weight). Reference: tf.data.Dataset.
class Dataset {
 public:
  // Wraps a chain of nodes (data/node.h), for custom sources and transforms.
  explicit Dataset(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  // Throws FailedPrecondition when the dataset was moved from, as do all methods below.
  const std::shared_ptr<const Node>& node() const {
    check<FailedPrecondition>(
        node_ != nullptr, "Dataset: used after it was moved from. Copy it instead: copies share.");
    return node_;
  }
  // Slices all tensors along axis 0, one element per row. Throws InvalidArgument, with both counts,
  // when the numbers of rows differ. The tensors are shared, not copied.
  static Dataset from_tensor_slices(const Element& tensors);
  // A dataset with a single element.
  static Dataset from_tensors(const Element& tensors);
  // Elements produced by a user-supplied function. `generator` is called at the beginning of each
  // pass and returns a function that returns one element after another, then nullopt:
  //
  //   auto squares = data::Dataset::from_generator([] {
  //     return [i = 0]() mutable -> std::optional<data::Element> {
  //       if (i == 10) return std::nullopt;
  //       ++i;
  //       return Tensor::scalar(i * i);
  //     };
  //   });
  //
  // Each pass must produce the same elements: a position is saved as a number of elements, and
  // restored by skipping as many. Without output_signature, the first element determines the types
  // of all of them (the generator is called once here). While iterating, throws InvalidArgument for
  // an element of another type. Errors that the functions throw propagate through the iterator;
  // other exceptions do so as an InvalidArgument that nests them (std::rethrow_if_nested), as for
  // all functions that pipelines call. The functions run on the iterating thread, or on a prefetch
  // thread. Destroying an iterator waits for that thread, so a function that may block forever must
  // be told by its owner to give up.
  static Dataset from_generator(Generator generator, const GeneratorOptions& options = {});
  // Overload for a function that returns the elements directly: each pass begins with a copy of it,
  // and so with its original state.
  template <class F>
  requires(std::is_invocable_r_v<std::optional<Element>, F&>) static Dataset
      from_generator(F next, const GeneratorOptions& options = {}) {
    return from_generator(
        Generator([next] { return std::function<std::optional<Element>()>(next); }), options);
  }
  // start (default 0), start + step, … up to but excluding stop: int64 scalars, or scalars of
  // another type, converted as by a C++ cast. Throws InvalidArgument when the step is 0 or the type
  // isn't numeric.
  static Dataset range(int64_t stop, const RangeOptions& options = {}) {
    return range(0, stop, 1, options);
  }
  static Dataset range(int64_t start, int64_t stop, const RangeOptions& options = {}) {
    return range(start, stop, 1, options);
  }
  static Dataset range(int64_t start, int64_t stop, int64_t step, const RangeOptions& options = {});
  // The paths that match the patterns, as string scalars. Patterns such as "data/*.csv" may use
  // '?', '*' and "[…]" within a directory or file name (glob(7)); hidden files match, too. The
  // paths are sorted, or shuffled in a new order in each pass. Throws NotFound when nothing
  // matches.
  static Dataset list_files(const std::string& pattern, const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>{pattern}, options);
  }
  static Dataset list_files(std::initializer_list<std::string> patterns,
                            const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>(patterns), options);
  }
  static Dataset list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options = {});
  // Combines the n-th elements of all datasets into tuples, or into elements of any structure; ends
  // with the shortest dataset. Pairs zipped with weights become ((x, y), weight):
  //
  //   Dataset::zip(pairs, weights)
  //   Dataset::zip({{"image", images}, {"hint", hints}})
  //
  // Throws InvalidArgument when there are no datasets or a name occurs twice.
  static Dataset zip(const NestedDatasets& datasets);
  template <class... Rest>
  static Dataset zip(const NestedDatasets& first, const NestedDatasets& second,
                     const Rest&... rest);

  // start, start + step, … without end: int64 scalars, or scalars of another numeric type (see
  // range).
  static Dataset counter(int64_t start = 0, int64_t step = 1, DType dtype = DType::Int64);
  // An endless sequence of random int64 scalars in [0, 2^32). With a seed, each pass is the same
  // unless rerandomize_each_iteration is set.
  static Dataset random(const RandomOptions& options = {});
  // Takes each element from one of the datasets, drawn at random with the given weights; exhausted
  // datasets aren't drawn any more. The datasets' elements must have the same type. Throws
  // InvalidArgument when weights are negative or all 0 or there isn't one for each dataset; for
  // weights that come from a dataset, while iterating.
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const SampleFromDatasetsOptions& options = {});
  // Takes each element from the dataset whose index comes next in `choice_dataset`, int64 scalars.
  static Dataset choose_from_datasets(const std::vector<Dataset>& datasets,
                                      const Dataset& choice_dataset,
                                      const ChooseFromDatasetsOptions& options = {});

  // Picks elements at random from a buffer of the next `buffer_size` (>= 1) elements. A buffer as
  // large as the dataset shuffles it perfectly. Rows of from_tensor_slices are shuffled by index,
  // so that a large buffer costs only 8 bytes per row.
  Dataset shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;

  // Stacks `batch_size` (>= 1) elements along a new axis 0. Throws InvalidArgument, while
  // iterating, when their shapes differ. Batches of consecutive rows share the tensors' memory.
  // With num_parallel_calls, the batches and their order stay the same, unless `deterministic` is
  // false.
  Dataset batch(int64_t batch_size, const BatchOptions& options = {}) const;

  // Batches elements of different lengths: their tensors are padded at the end of each axis. Throws
  // InvalidArgument for a tensor that is larger than its padded shape.
  Dataset padded_batch(int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  // Tensors whose axis 0 is unknown become {values, row_splits}: their rows concatenated along axis
  // 0, and int64 (batch + 1) with the offsets where each element begins and ends. Other tensors are
  // batched as by batch().
  Dataset ragged_batch(int64_t batch_size, const RaggedBatchOptions& options = {}) const;
  // Splits batches, of any size, into their rows.
  Dataset unbatch() const;
  // Regroups the rows of batches into batches of `batch_size`, like unbatch().batch().
  Dataset rebatch(int64_t batch_size, const BatchOptions& options = {}) const {
    return unbatch().batch(batch_size, options);
  }

  // Applies `f` to each element; see map_function for its parameter and return types. The result
  // must depend only on the arguments; random ops without a seed draw new numbers for each element
  // of each pass. `f` is traced like function(f), once for each signature of elements: immediately,
  // and again where axes vary.
  //
  // A function that can't be traced because it reads values (item(), data()) or works on strings
  // runs on the host instead, op by op for each element; with num_parallel_calls it must be safe to
  // call from several threads. Its result for one element determines the type of all results,
  // except for the sizes of axes, which are unknown unless output_signature specifies them.
  template <class F>
  Dataset map(F f, const MapOptions& options = {}) const {
    return mapped(map_function(std::move(f)), options);
  }

  // Keeps the elements for which `predicate` is true. It takes the same parameters as a map
  // function, is traced in the same way, and returns a bool scalar; throws InvalidArgument when it
  // returns anything else.
  template <class F>
  Dataset filter(F predicate) const {
    return filtered(map_function(std::move(predicate)));
  }

  // Keeps the elements up to the first one for which `predicate` is false; see filter.
  template <class F>
  Dataset take_while(F predicate) const {
    return taken_while(map_function(std::move(predicate)));
  }

  // Maps each element to a dataset with `f` and concatenates the elements of these datasets. `f`
  // takes the same parameters as a map function. It isn't traced but runs on the host, on the
  // iterating thread, for each element (and for the first one immediately). Shuffles without a seed
  // within these datasets use a new order for each element of each pass. Throws InvalidArgument,
  // naming output_signature, while iterating, for elements of another type.
  template <class F>
  Dataset flat_map(F f, const FlatMapOptions& options = {}) const {
    return flat_mapped(dataset_function(std::move(f)), options);
  }
  // Like flat_map, but takes elements from several of the datasets in turn, in tf.data's order.
  template <class F>
  Dataset interleave(F f, const InterleaveOptions& options = {}) const {
    return interleaved(dataset_function(std::move(f)), options);
  }

  // Groups consecutive elements into datasets of `size` (>= 1) elements. If an element fails, its
  // error is thrown in place of the window.
  Windows window(int64_t size, const WindowOptions& options = {}) const;

  // Groups elements by key (`key_func` is traced like a map function and returns an integer
  // scalar); each group of `window_size` elements is replaced by the dataset that `reduce_func`
  // makes of it. The incomplete groups come at the end, ordered by key.
  using ReduceFunction = std::function<Dataset(int64_t key, const Dataset& window)>;
  template <class F>
  Dataset group_by_window(F key_func, ReduceFunction reduce_func, int64_t window_size,
                          const GroupByWindowOptions& options = {}) const {
    return grouped(
        map_function(std::move(key_func)), std::move(reduce_func),
        [window_size](int64_t) { return window_size; }, std::to_string(window_size), options);
  }
  // Overload with a window size for each key.
  template <class F>
  Dataset group_by_window(F key_func, ReduceFunction reduce_func,
                          std::function<int64_t(int64_t key)> window_size_func,
                          const GroupByWindowOptions& options = {}) const {
    return grouped(map_function(std::move(key_func)), std::move(reduce_func),
                   std::move(window_size_func), "by key", options);
  }
  // Batches elements of similar length, as computed by `element_length_func` (traced). Bucket i
  // holds lengths below bucket_boundaries[i], the last one all others; its batches have
  // bucket_batch_sizes[i] elements and are padded.
  template <class F>
  Dataset bucket_by_sequence_length(F element_length_func, std::vector<int64_t> bucket_boundaries,
                                    std::vector<int64_t> bucket_batch_sizes,
                                    const BucketOptions& options = {}) const {
    return bucketed(map_function(std::move(element_length_func)), std::move(bucket_boundaries),
                    std::move(bucket_batch_sizes), options);
  }

  // f(state, element) returns the next state and an output element; it is traced like a map
  // function. The dtypes and shapes of the state must stay the same.
  template <class F>
  Dataset scan(const Element& initial_state, F f) const {
    return scanned(initial_state, map_function(std::move(f)));
  }
  // Returns the final state of f(state, element) after a pass over the dataset, which runs
  // immediately.
  template <class F>
  Element reduce(const Element& initial_state, F f) const {
    return reduced(initial_state, map_function(std::move(f)));
  }

  // Keeps the first occurrence of each element. Elements have a single tensor, which may be a
  // string; numbers are compared bitwise. Keeps all distinct elements in memory; restoring a
  // position goes through the elements again.
  Dataset unique() const;
  // Yields pairs of (class, element), dropping elements so that the classes are distributed
  // according to `target_dist` (which sums to 1). `class_func` is traced like a map function.
  template <class F>
  Dataset rejection_resample(F class_func, std::vector<double> target_dist,
                             const RejectionResampleOptions& options = {}) const {
    return resampled(map_function(std::move(class_func)), std::move(target_dist), options);
  }
  // Returns f(*this).
  template <class F>
  auto apply(F f) const {
    return f(*this);
  }
  // Declares the number of elements. While iterating, throws FailedPrecondition when the actual
  // number differs; the pass then ends. A worker's part of the files or of their records has fewer
  // elements and isn't checked.
  Dataset assert_cardinality(int64_t count) const;
  // Drops elements whose computation fails upstream (in a map, say), and logs their number at the
  // end of a pass. Elements dropped by skip(), shard() or a window's gap count as usual even if
  // they would fail, and aren't reported, since a map needn't be computed for them. (tf.data starts
  // counting again after each failed element.) Batches, and the elements of take() and
  // interleave(), are computed even when dropped, since the next one begins after the failed
  // element.
  Dataset ignore_errors(const IgnoreErrorsOptions& options = {}) const;
  // Returns the only element. Throws InvalidArgument when there is none or more than one.
  Element get_single_element() const;

  // Repeats the dataset `count` times; -1 repeats it forever.
  Dataset repeat(int64_t count = -1) const;
  // The first `count` elements, not counting those that fail; -1 takes all.
  Dataset take(int64_t count) const;
  // All but the first `count` elements; -1 skips all of them. Throws InvalidArgument for counts
  // below -1, as do repeat() and take().
  Dataset skip(int64_t count) const;
  // Keeps the elements of the first complete pass and returns them in later passes. They are kept
  // in memory, or in the given file, which later runs of the program read, too. While iterating,
  // throws FailedPrecondition for a file written by another pipeline (its functions aren't
  // compared), and DataLoss for a damaged one.
  Dataset cache(const std::string& filename = "") const;
  // Like cache(), but the file in `folder` is named after the pipeline's fingerprint, so that
  // different pipelines and compressions use different files. With a shard_func or a reader_func, a
  // directory of files is used. A restored position continues from the source that was in use when
  // it was saved, the elements being computed or the files; throws FailedPrecondition when the
  // files are gone.
  Dataset snapshot(const std::string& folder, const SnapshotOptions& options = {}) const;
  // Writes the elements of a pass to a directory, from which load() returns them in the same order.
  // An earlier save in the directory stays until everything is written; datasets loaded from it
  // then end with NotFound. Only one save at a time writes to a directory, others wait. Throws
  // InvalidArgument when the dataset is infinite; file errors are those of write_file_atomically.
  void save(const std::string& path, const SaveOptions& options = {}) const;
  // Throws NotFound when nothing was saved there; DataLoss, here or while iterating, for damaged
  // files.
  static Dataset load(const std::string& path, const LoadOptions& options = {});
  // Prepares up to `buffer_size` elements in advance on a thread of its own. 0 disables
  // prefetching; kAutotune starts with 2 elements and grows the buffer when it is found empty after
  // having been full (see AutotuneOptions).
  Dataset prefetch(int64_t buffer_size) const;
  // Pairs of the element's index, an int64 scalar, and the element: (0, (x, y)), …
  Dataset enumerate(int64_t start = 0) const;
  // The elements of this dataset followed by those of `other`, which must have the same type.
  Dataset concatenate(const Dataset& other) const;
  // Every `count`-th element, starting with element `index`. When both arguments are kShardHint:
  // all elements, or a worker's part under AutoShardPolicy::Hint.
  Dataset shard(int64_t count, int64_t index) const;
  // Options apply to the whole pipeline, wherever this call appears. When options are set several
  // times, also by datasets that are joined, each option that differs from its default takes
  // effect; the last one wins.
  Dataset with_options(const Options& options) const;

  // Number of elements in a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  std::optional<int64_t> cardinality() const;
  const ElementSpec& element_spec() const;
  Options options() const;
  // Statistics of the passes over this handle so far (including those of `fit`), if enabled by
  // Options.statistics or by the environment variable CORNU_DATA_STATS=1. The latter also logs each
  // pass's table when the pass ends or is abandoned. Measuring costs about 0.1 us per transform and
  // element. Thread-safe.
  Statistics stats() const;

  // Starts a new pass.
  Iterator iterator() const;

  // Range-for support: begin() starts a new pass, which is read one element at a time.
  class Cursor;
  Cursor begin() const;
  std::default_sentinel_t end() const { return {}; }

  operator std::shared_ptr<BatchSource>() const;  // NOLINT: implicit on purpose

 private:
  Dataset mapped(MapFunction f, const MapOptions& options) const;
  Dataset filtered(MapFunction predicate) const;
  Dataset taken_while(MapFunction predicate) const;
  Dataset flat_mapped(DatasetFunction f, const FlatMapOptions& options) const;
  Dataset interleaved(DatasetFunction f, const InterleaveOptions& options) const;
  Dataset grouped(MapFunction key, ReduceFunction reduce, std::function<int64_t(int64_t)> size,
                  const std::string& text, const GroupByWindowOptions& options) const;
  Dataset bucketed(MapFunction length, std::vector<int64_t> boundaries, std::vector<int64_t> sizes,
                   const BucketOptions& options) const;
  Dataset scanned(const Element& initial, MapFunction f) const;
  Element reduced(const Element& initial, MapFunction f) const;
  Dataset resampled(MapFunction class_func, std::vector<double> target,
                    const RejectionResampleOptions& options) const;

  std::shared_ptr<const Node> node_;
};

// The datasets that zip combines: one, a tuple of several, or a dictionary of named ones, nested to
// any depth.
//
//   {x, y}
//   {{"image", images}, {"hint", hints}}
//   {{{"image", images}, {"hint", hints}}, labels}
class NestedDatasets {
 public:
  using Named = std::pair<std::string, NestedDatasets>;

  NestedDatasets() : structure_(Structure::tuple({})) {}          // empty
  NestedDatasets(const Dataset& dataset) : datasets_{dataset} {}  // NOLINT: implicit on purpose
  NestedDatasets(const std::vector<Dataset>& members);            // NOLINT: a tuple
  NestedDatasets(std::initializer_list<NestedDatasets> members);  // NOLINT: a tuple
  NestedDatasets(std::initializer_list<Named> members);           // NOLINT: a dictionary
  static NestedDatasets dict(const std::vector<Named>& members);
  static NestedDatasets tuple(const std::vector<NestedDatasets>& members);

  const std::vector<Dataset>& datasets() const { return datasets_; }  // from left to right
  const Structure& structure() const { return structure_; }           // of the datasets

 private:
  const Structure& add(const NestedDatasets& member);

  std::vector<Dataset> datasets_;
  Structure structure_;
};

template <class... Rest>
Dataset Dataset::zip(const NestedDatasets& first, const NestedDatasets& second,
                     const Rest&... rest) {
  return zip(NestedDatasets::tuple({first, second, rest...}));
}

class Dataset::Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Element;
  using difference_type = std::ptrdiff_t;

  explicit Cursor(Iterator iterator) : iterator_(std::move(iterator)) { ++*this; }
  const Element& operator*() const { return element_; }
  const Element* operator->() const { return &element_; }
  Cursor& operator++() {
    more_ = iterator_.next(element_);
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Cursor& cursor, std::default_sentinel_t) { return !cursor.more_; }

 private:
  Iterator iterator_;
  Element element_;
  bool more_ = false;
};

inline Dataset::Cursor Dataset::begin() const { return Cursor(iterator()); }

}  // namespace cornu::data

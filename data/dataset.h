// SPDX-License-Identifier: Apache-2.0
// Input pipelines, as tf.data builds them.
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

// One pass over a dataset. Used by one thread at a time; keeps its dataset alive. Threads that work
// ahead for it end with it. One that was moved from is FailedPrecondition.
class Iterator {
 public:
  explicit Iterator(std::shared_ptr<const Node> node) : Iterator(node, node) {}
  // Passes are numbered by `counter`, a node that `node` was derived from, as those of its `part`.
  Iterator(std::shared_ptr<const Node> node, std::shared_ptr<const Node> counter,
           std::string part = "");
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  // False at the end. Errors of map functions and of readers are thrown here; after one, the
  // iterator is good for save() only.
  bool next(Element& element);

  // The exact position, as described for BatchIterator: the number of the pass and of the elements
  // that next() gave, and where these don't tell it, the state of each transform ("state"): how
  // much of its input filter has seen, which elements shuffle holds. Restoring moves over what is
  // behind without computing what a map, a batch or a later pass would make of it; elements that
  // were held, as in a shuffle's buffer, are made again. After an error it is the position before
  // the element that failed, which is restored by going through all before it.
  Json save() const;
  // On a new iterator only. FailedPrecondition when the position is another pipeline's, DataLoss
  // when it is damaged.
  void restore(const Json& position);
  // The same, also of a pipeline that differs in the size of its batches alone: see BatchIterator.
  void restore_examples(const Json& position);

  // What was measured of this pass so far; see Dataset::stats.
  Statistics stats() const;

 private:
  struct State;
  State& state() const;
  void go_to(const SourcePosition& saved, const Json& position);
  std::unique_ptr<State> state_;
};

// A cheap handle on an immutable chain of transforms, which nothing is computed by until it is
// iterated. Copying shares. Thread-safe; each iterator belongs to one thread.
//
// Every pass over one handle, and every repetition of repeat(), shuffles anew; with seeds (given,
// or from set_random_seed) the passes of two runs of a program are the same, at any parallelism.
//
//   auto dataset = data::Dataset::from_tensor_slices({x, y}).shuffle(10'000).batch(64);
//   for (const auto& [images, labels] : dataset) …
//
// It converts to a BatchSource for `fit`, `evaluate` and `predict`: elements of one component are
// x, of two (x, y), of three (x, y, sample_weight). Reference: tf.data.Dataset.
class Dataset {
 public:
  // What a chain of nodes gives (data/node.h): for sources and transforms of one's own.
  explicit Dataset(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  // FailedPrecondition, as from all that follows, when the dataset was moved from.
  const std::shared_ptr<const Node>& node() const {
    check<FailedPrecondition>(node_ != nullptr,
                              "Dataset: it was moved from. Copy it instead: copies share.");
    return node_;
  }
  // One element a row: all tensors are cut along axis 0. InvalidArgument, with both counts, when
  // their numbers of rows differ. The tensors are shared, not copied.
  static Dataset from_tensor_slices(const Element& tensors);
  // A single element.
  static Dataset from_tensors(const Element& tensors);
  // What a function of the caller's gives. `generator` is called at the beginning of each pass and
  // returns a function that gives one element after another, then nullopt:
  //
  //   auto squares = data::Dataset::from_generator([] {
  //     return [i = 0]() mutable -> std::optional<data::Element> {
  //       if (i == 10) return std::nullopt;
  //       ++i;
  //       return Tensor::scalar(i * i);
  //     };
  //   });
  //
  // Each pass must give the same elements: a position is saved as their number, and restored by
  // leaving out as many. Without output_signature, the first element tells the types of all (the
  // generator is called once here). InvalidArgument, while iterating, for an element of another
  // kind; what the functions throw is thrown by the iterator. They run on the thread that iterates,
  // or on that of a prefetch, which an iterator that is destroyed waits for: a function that waits
  // for what may never come must be told by its owner to give up.
  static Dataset from_generator(Generator generator, const GeneratorOptions& options = {});
  // The same of the function that gives the elements: each pass begins with a copy of it, and so
  // with the state that it was given with.
  template <class F>
  requires(std::is_invocable_r_v<std::optional<Element>, F&>) static Dataset
      from_generator(F next, const GeneratorOptions& options = {}) {
    return from_generator(
        Generator([next] { return std::function<std::optional<Element>()>(next); }), options);
  }
  // start (0), start + step, … up to stop, without it: int64 scalars, or of another type, which
  // they are cast to as C++ casts them. InvalidArgument for a step of 0, and a type that is none of
  // numbers.
  static Dataset range(int64_t stop, const RangeOptions& options = {}) {
    return range(0, stop, 1, options);
  }
  static Dataset range(int64_t start, int64_t stop, const RangeOptions& options = {}) {
    return range(start, stop, 1, options);
  }
  static Dataset range(int64_t start, int64_t stop, int64_t step, const RangeOptions& options = {});
  // The paths that patterns stand for, as string scalars: "data/*.csv", with '?', '*' and "[…]"
  // within a folder's name or a file's (glob(7)), hidden ones too. Sorted, or shuffled anew in each
  // pass. NotFound when nothing matches.
  static Dataset list_files(const std::string& pattern, const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>{pattern}, options);
  }
  static Dataset list_files(std::initializer_list<std::string> patterns,
                            const ListFilesOptions& options = {}) {
    return list_files(std::vector<std::string>(patterns), options);
  }
  static Dataset list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options = {});
  // Tuples of the n-th elements of all, or elements of any structure; ends with the shortest. Pairs
  // zipped with weights are ((x, y), weight):
  //
  //   Dataset::zip(pairs, weights)
  //   Dataset::zip({{"image", images}, {"hint", hints}})
  //
  // InvalidArgument without datasets, and for names that come twice.
  static Dataset zip(const NestedDatasets& datasets);
  template <class... Rest>
  static Dataset zip(const NestedDatasets& first, const NestedDatasets& second,
                     const Rest&... rest);

  // start, start + step, … without end: int64 scalars, or of another type of numbers (see range).
  static Dataset counter(int64_t start = 0, int64_t step = 1, DType dtype = DType::Int64);
  // Random int64 scalars in [0, 2^32), without end; with a seed, the same in each pass unless told
  // otherwise.
  static Dataset random(const RandomOptions& options = {});
  // Elements of datasets of one kind, each from one that is drawn with these weights. One that has
  // ended isn't drawn any more. InvalidArgument for weights below 0, not one for each dataset, or
  // all 0; for those of a dataset, while iterating.
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const SampleFromDatasetsOptions& options = {});
  // Each from the dataset whose number comes next in `choice_dataset`, int64 scalars.
  static Dataset choose_from_datasets(const std::vector<Dataset>& datasets,
                                      const Dataset& choice_dataset,
                                      const ChooseFromDatasetsOptions& options = {});

  // Takes elements at random from a buffer of the next `buffer_size` (>= 1). A buffer as large as
  // the dataset shuffles it perfectly. Rows of from_tensor_slices are shuffled by number: a large
  // buffer then costs 8 bytes a row.
  Dataset shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;

  // Stacks `batch_size` (>= 1) elements along a new axis 0. InvalidArgument, while iterating, when
  // their shapes differ. Batches of consecutive rows share the tensors' memory. With
  // num_parallel_calls they are the same batches, in the same order, unless `deterministic` is
  // false.
  Dataset batch(int64_t batch_size, const BatchOptions& options = {}) const;

  // Batches of elements of several lengths: their tensors are filled up at the end of each axis.
  // InvalidArgument for what is longer than its padded shape.
  Dataset padded_batch(int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  // Tensors whose axis 0 is unknown become {values, row_splits}: their rows joined along axis 0,
  // and int64 (batch + 1) where each element's begin and end. Others are batched.
  Dataset ragged_batch(int64_t batch_size, const RaggedBatchOptions& options = {}) const;
  // The rows of batches, of any size.
  Dataset unbatch() const;
  // The rows of batches in batches of `batch_size`, as unbatch().batch() gives them.
  Dataset rebatch(int64_t batch_size, const BatchOptions& options = {}) const {
    return unbatch().batch(batch_size, options);
  }

  // `f` of each element; see map_function for what it may take and return. What it gives must
  // depend on its arguments alone; random ops without a seed draw anew for each element of each
  // pass. It is traced like function(f), once for each signature of elements: now, and again where
  // axes vary.
  //
  // A function that can't be traced, since it asks for values (item(), data()) or works on strings,
  // runs on the host instead, op by op for each element; it must be safe to call from several
  // threads with num_parallel_calls. What it gives of one element tells what it gives of all, but
  // for the sizes of axes, which are unknown unless output_signature has them.
  template <class F>
  Dataset map(F f, const MapOptions& options = {}) const {
    return mapped(map_function(std::move(f)), options);
  }

  // The elements of which `predicate` holds. It takes what a map function does, is traced as that
  // is, and returns a bool scalar; InvalidArgument when it returns anything else.
  template <class F>
  Dataset filter(F predicate) const {
    return filtered(map_function(std::move(predicate)));
  }

  // The elements up to the first of which `predicate` doesn't hold; see filter.
  template <class F>
  Dataset take_while(F predicate) const {
    return taken_while(map_function(std::move(predicate)));
  }

  // The elements of the datasets that `f` makes of the elements, one dataset after another. `f`
  // takes what a map function does and runs on the host, on the thread that iterates, for each
  // element (and for the first one now); it isn't traced. What is shuffled without a seed in these
  // datasets is shuffled anew for each element of each pass. InvalidArgument, while iterating, for
  // elements of another kind, naming output_signature.
  template <class F>
  Dataset flat_map(F f, const FlatMapOptions& options = {}) const {
    return flat_mapped(dataset_function(std::move(f)), options);
  }
  // The same, going through several datasets in turn, in tf.data's order.
  template <class F>
  Dataset interleave(F f, const InterleaveOptions& options = {}) const {
    return interleaved(dataset_function(std::move(f)), options);
  }

  // Datasets of `size` (>= 1) elements that follow one another. Where one of them fails, its error
  // comes in place of the window.
  Windows window(int64_t size, const WindowOptions& options = {}) const;

  // Elements of one key (`key_func` is traced as map's is, and gives an integer scalar) are
  // collected; each `window_size` of them become what `reduce_func` makes of their dataset. At the
  // end come those that are left, by key.
  using ReduceFunction = std::function<Dataset(int64_t key, const Dataset& window)>;
  template <class F>
  Dataset group_by_window(F key_func, ReduceFunction reduce_func, int64_t window_size,
                          const GroupByWindowOptions& options = {}) const {
    return grouped(
        map_function(std::move(key_func)), std::move(reduce_func),
        [window_size](int64_t) { return window_size; }, std::to_string(window_size), options);
  }
  // With a size for each key.
  template <class F>
  Dataset group_by_window(F key_func, ReduceFunction reduce_func,
                          std::function<int64_t(int64_t key)> window_size_func,
                          const GroupByWindowOptions& options = {}) const {
    return grouped(map_function(std::move(key_func)), std::move(reduce_func),
                   std::move(window_size_func), "by key", options);
  }
  // Batches of elements of about one length, which `element_length_func` (traced) gives: bucket i
  // has lengths below bucket_boundaries[i], the last one all others, in batches of
  // bucket_batch_sizes[i], padded.
  template <class F>
  Dataset bucket_by_sequence_length(F element_length_func, std::vector<int64_t> bucket_boundaries,
                                    std::vector<int64_t> bucket_batch_sizes,
                                    const BucketOptions& options = {}) const {
    return bucketed(map_function(std::move(element_length_func)), std::move(bucket_boundaries),
                    std::move(bucket_batch_sizes), options);
  }

  // f(state, element) gives the next state and an element: traced as map's is. States keep their
  // dtypes and shapes.
  template <class F>
  Dataset scan(const Element& initial_state, F f) const {
    return scanned(initial_state, map_function(std::move(f)));
  }
  // The last state of f(state, element) over a pass, which it makes now.
  template <class F>
  Element reduce(const Element& initial_state, F f) const {
    return reduced(initial_state, map_function(std::move(f)));
  }

  // Each element when it comes first; of one tensor, strings too (numbers are compared by their
  // bits). Keeps all of them in memory; a
  // position is restored by going through them again.
  Dataset unique() const;
  // Pairs of (class, element), of which some are left out so that classes come as often as
  // `target_dist` (which sums up to 1) says. `class_func` is traced as map's is.
  template <class F>
  Dataset rejection_resample(F class_func, std::vector<double> target_dist,
                             const RejectionResampleOptions& options = {}) const {
    return resampled(map_function(std::move(class_func)), std::move(target_dist), options);
  }
  // f(*this).
  template <class F>
  auto apply(F f) const {
    return f(*this);
  }
  // Says how many elements there are; FailedPrecondition, while iterating, when there aren't: it
  // ends there. A worker's part of the files or their records has fewer, which isn't compared.
  Dataset assert_cardinality(int64_t count) const;
  // Leaves out elements that fail below (in a map, say), and tells of their number in the log at
  // the end of a pass. Where skip(), shard() or a window's gap leave elements out, those that fail
  // count as the others do and aren't told of: a map needn't be computed for any of them. (tf.data
  // begins to count anew behind each that fails.) Batches, and what take() and interleave() give,
  // are made also where they are left out, since the next one begins behind what fails.
  Dataset ignore_errors(const IgnoreErrorsOptions& options = {}) const;
  // The only element. InvalidArgument when there is none, or more than one.
  Element get_single_element() const;

  // The whole `count` times; -1: without end.
  Dataset repeat(int64_t count = -1) const;
  // The first `count` elements, not counting those that fail; -1: all.
  Dataset take(int64_t count) const;
  // All but the first `count` elements; -1: none of them. InvalidArgument below -1, as of the
  // above.
  Dataset skip(int64_t count) const;
  // Keeps the elements of the first complete pass; later passes give them again. In memory; or in
  // the file of this name, which later runs of a program read too. FailedPrecondition, while
  // iterating, for a file that another pipeline has filled (what its functions do isn't compared),
  // DataLoss for a damaged one.
  Dataset cache(const std::string& filename = "") const;
  // The same in a file in `folder` that is named after the pipeline's fingerprint, so that another
  // pipeline, and one that is compressed otherwise, has another one. With a shard_func or a
  // reader_func: in a folder of such files. A position goes on among what it was saved in, the
  // elements as they are made or those files: FailedPrecondition where these have gone.
  Dataset snapshot(const std::string& folder, const SnapshotOptions& options = {}) const;
  // Writes the elements of a pass to a folder, for load(), which gives them again, in the same
  // order. What was saved there before stays until all is written, then datasets that were loaded
  // of it end with NotFound. One save at a time writes there, others wait. InvalidArgument when
  // there is no end; errors of files as write_file_atomically's.
  void save(const std::string& path, const SaveOptions& options = {}) const;
  // NotFound when nothing was saved there; DataLoss, here or while iterating, for damaged files.
  static Dataset load(const std::string& path, const LoadOptions& options = {});
  // Works up to `buffer_size` elements ahead on a thread of its own; 0: doesn't; kAutotune: 2, and
  // more where the buffer is found empty after having been full (see AutotuneOptions).
  Dataset prefetch(int64_t buffer_size) const;
  // Pairs of the element's number, an int64 scalar, and the element: (0, (x, y)), …
  Dataset enumerate(int64_t start = 0) const;
  // The elements of this and then of `other`, which must be of the same kind.
  Dataset concatenate(const Dataset& other) const;
  // Every `count`-th element from element `index` on. Where both are kShardHint: all of them, but a
  // worker's part under AutoShardPolicy::Hint.
  Dataset shard(int64_t count, int64_t index) const;
  // Options count for the whole pipeline, wherever they stand. Where they are given more than once,
  // also by datasets that are joined, each that differs from its default counts, the last one of
  // several.
  Dataset with_options(const Options& options) const;

  // Elements in a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  std::optional<int64_t> cardinality() const;
  const ElementSpec& element_spec() const;
  Options options() const;
  // What was measured of the passes over this handle so far (those of `fit`, too), where
  // Options.statistics asks for it or the environment variable CORNU_DATA_STATS=1; that also writes
  // each pass's table to the log when the pass ends or is left. Measuring costs about 0.1 us for
  // each transform and element. Thread-safe.
  Statistics stats() const;

  // A new pass.
  Iterator iterator() const;

  // What range-for goes through: a new pass, an element at a time.
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

// Datasets as zip joins them: one, a tuple of several, or a dictionary of named ones, to any depth.
//
//   {x, y}    {{"image", images}, {"hint", hints}}    {{{"image", images}, {"hint", hints}},
//   labels}
class NestedDatasets {
 public:
  using Named = std::pair<std::string, NestedDatasets>;

  NestedDatasets() : structure_(Structure::tuple({})) {}          // none
  NestedDatasets(const Dataset& dataset) : datasets_{dataset} {}  // NOLINT: implicit on purpose
  NestedDatasets(const std::vector<Dataset>& members);            // NOLINT: a tuple
  NestedDatasets(std::initializer_list<NestedDatasets> members);  // NOLINT: a tuple
  NestedDatasets(std::initializer_list<Named> members);           // NOLINT: a dictionary
  static NestedDatasets dict(const std::vector<Named>& members);
  static NestedDatasets tuple(const std::vector<NestedDatasets>& members);

  const std::vector<Dataset>& datasets() const { return datasets_; }  // from left to right
  const Structure& structure() const { return structure_; }           // of these

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

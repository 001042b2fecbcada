// SPDX-License-Identifier: Apache-2.0
#include "data/text_dataset.h"

#include "data/directory_dataset.h"
#include "data/serialization/links.h"
#include "data/sources/file_records.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

struct TextFiles : LabeledFiles {
  std::optional<int64_t> max_length;
  int64_t calls = 1;
};

// The text, with its label, that each number of a file stands for.
class LoadedTexts : public Node {
 public:
  LoadedTexts(NodePtr numbers, std::shared_ptr<const TextFiles> files)
      : Node({std::move(numbers)}), files_(std::move(files)) {
    spec_ = files_->spec_of_contents({DType::String, Shape{}});
  }

  const ElementSpec& spec() const override { return spec_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("load_texts(to {}, {})", spec_.to_string(), files_->max_length.value_or(-1));
  }
  // By data, others' files aren't read either: files() isn't for them.
  NodePtr worker_part(const WorkerPart& part) const override {
    if (part.by == WorkerPart::By::Hint) return nullptr;
    return with_inputs({make_sharded_sources(inputs().front(), part)});
  }
  void write(LinkWriter& link) const override {
    link.kind("text_files")("max_length", files_->max_length)
        .hint("num_parallel_calls", files_->calls);
    write_files(link, *files_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const auto load = [this](const Element& row, int64_t) {
      return loaded(files_->number_in(row));
    };
    return make_parallel_map(input().stream(pass), load, files_->calls, pass);
  }

 private:
  Element loaded(size_t number) const {
    FileReader file(files_->paths[number]);
    const auto most = static_cast<uint64_t>(files_->max_length.value_or(INT64_MAX));
    std::string text(std::min<uint64_t>(file.size(), most), '\0');
    file.read(std::as_writable_bytes(std::span(text)));
    return files_->element_of(text_scalar(std::move(text)), number);
  }

  std::shared_ptr<const TextFiles> files_;
  ElementSpec spec_;
};

DirectoryQuery text_query_of(const TextDatasetOptions& options) {
  return {.who = "text_dataset_from_directory",
          .both = "text_dataset_split_from_directory",
          .what = "texts",
          .formats = {".txt"},
          .labels = options.labels,
          .label_mode = options.label_mode,
          .class_names = options.class_names,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .validation_split = options.validation_split,
          .subset = options.subset,
          .follow_links = options.follow_links,
          .verbose = options.verbose};
}

DirectoryQuery checked_text_query(const TextDatasetOptions& options, bool both) {
  DirectoryQuery query = text_query_of(options);
  check_query(query, both);
  check<InvalidArgument>(!options.max_length || *options.max_length >= 0,
                         "{}: expected a max_length of at least 0, got {}.", query.who,
                         options.max_length.value_or(0));
  return query;
}

TextDataset texts_of(const std::filesystem::path& directory, const DirectoryIndex& index,
                     std::pair<size_t, size_t> range, bool shuffle, const DirectoryQuery& query,
                     const TextDatasetOptions& options) {
  auto files = std::make_shared<TextFiles>();
  take_files(*files, directory, index, range, query);
  files->max_length = options.max_length;
  files->calls = resolve_parallel_calls(options.num_parallel_calls, query.who.c_str());
  NodePtr node = make_file_numbers(*files, "text_files");
  if (shuffle) {
    node = make_shuffle(std::move(node), std::ssize(files->paths), {.seed = options.seed});
  }
  node = std::make_shared<LoadedTexts>(std::move(node), files);
  if (options.batch_size) node = make_batch(std::move(node), *options.batch_size, {});
  return {Dataset(make_prefetch(std::move(node), kAutotune)), index.class_names, files->paths};
}

}  // namespace

TextDataset text_dataset_from_directory(const std::filesystem::path& directory,
                                        const TextDatasetOptions& options) {
  const DirectoryQuery query = checked_text_query(options, false);
  const DirectoryIndex index = find_files(directory, query);
  return texts_of(directory, index, subset_of(index, query), options.shuffle, query, options);
}

TextDatasetSplit text_dataset_split_from_directory(const std::filesystem::path& directory,
                                                   const TextDatasetOptions& options) {
  const DirectoryQuery query = checked_text_query(options, true);
  const DirectoryIndex index = find_files(directory, query);
  const size_t edge = subset_edge(index, query);
  const size_t all = index.file_paths.size();
  return {texts_of(directory, index, {0, edge}, options.shuffle, query, options),
          texts_of(directory, index, {edge, all}, false, query, options)};
}

NodePtr read_text_files(LinkReader& link) {
  auto files = std::make_shared<TextFiles>();
  read_files(link, *files);
  files->max_length = link.get<std::optional<int64_t>>("max_length");
  files->calls = read_calls(link);
  check<InvalidArgument>(!files->max_length || *files->max_length >= 0,
                         "expected a max_length of at least 0, got {}.",
                         files->max_length.value_or(0));
  return std::make_shared<LoadedTexts>(link.input(), std::move(files));
}

}  // namespace cornu::data

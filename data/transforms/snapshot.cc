// SPDX-License-Identifier: Apache-2.0
// Elements in a file, or in the files of a folder, named after the pipeline.
#include <filesystem>

#include "data/saved_folder.h"
#include "data/serialization/link.h"
#include "data/transforms/kept_files.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"

namespace cornu::data {
namespace {

class Snapshot;

// A pass over the input that is being written, or over the files written earlier. A position
// records which of the two it is in, as their order may differ.
class SnapshotStream : public Stream<Element> {
 public:
  SnapshotStream(const Snapshot& node, Pass pass);

  bool next(Element& element) override;
  void leave_out(int64_t count, int64_t& left_out) override {
    if (writer_) return Stream<Element>::leave_out(count, left_out);
    input_->leave_out(count, left_out);
  }
  Json save() const override;
  void restore(const Json& state) override;

 private:
  // Opens the existing files. `drawn`: the seeds drawn by their reader; null: new ones.
  void open_files(const std::vector<int64_t>* drawn);
  void open_input();
  void keep(const Element& element, bool ended);

  const Snapshot& node_;
  Pass pass_;
  std::string read_;            // the id of the save that is read; empty: reads the input
  std::vector<int64_t> drawn_;  // the seeds for its order
  std::optional<Dataset> files_;
  std::optional<Input<Element>> input_;
  std::unique_ptr<SavedFolderWriter> writer_;
};

class Snapshot : public Node {
 public:
  Snapshot(NodePtr input, std::string path, SnapshotOptions options)
      : Node({std::move(input)}),
        given_path_(std::move(path)),
        path_(given_path_),
        options_(std::move(options)) {}

  const std::string& path() const { return path_; }
  const SnapshotOptions& snapshot_options() const { return options_; }

  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "snapshot"; }
  void write(LinkWriter&) const override { refuse_to_travel("snapshot"); }
  // The reader function may shuffle.
  bool varies() const override { return options_.reader_func != nullptr; }
  StreamPtr<Element> elements(Pass pass) const override {
    if (pass.sample) return input().stream(pass);
    return std::make_unique<SnapshotStream>(*this, pass);
  }

 protected:
  void inputs_changed() override { path_ = path_of_part(given_path_, input()); }

 private:
  std::string given_path_;
  std::string path_;
  SnapshotOptions options_;
};

SnapshotStream::SnapshotStream(const Snapshot& node, Pass pass) : node_(node), pass_(pass) {
  if (SavedIndex::is_in(node.path())) {
    open_files(nullptr);
    return;
  }
  open_input();
  const SaveOptions options = {.compression = node.snapshot_options().compression,
                               .shard_func = node.snapshot_options().shard_func};
  writer_ = std::make_unique<SavedFolderWriter>(node.path(), node.spec(), options, "snapshot",
                                                SavedFolderWriter::Lock::Try);
  if (!writer_->may_write()) writer_.reset();  // another iterator or process is writing
}

void SnapshotStream::open_input() {
  Pass pass = pass_;
  pass.id = 0;  // what is written doesn't depend on which pass fills the files
  input_.emplace(node_.input().stream(pass));
}

void SnapshotStream::open_files(const std::vector<int64_t>* drawn) {
  const SavedIndex index = SavedIndex::read(node_.path());
  read_ = index.id;
  files_ = dataset_of(node_.path(), index, node_.snapshot_options().reader_func);
  check<InvalidArgument>(
      files_->element_spec() == node_.spec(),
      "snapshot: reader_func's dataset has elements of the kind {}, expected {}.",
      files_->element_spec(), node_.spec());
  if (const auto count = node_.cardinality(); count && *count != kInfiniteCardinality) {
    files_ = files_->assert_cardinality(*count);
  }
  const auto seeds = drawn_seeds(*files_->node());
  if (drawn) {
    check<FailedPrecondition>(seeds.size() == drawn->size(),
                              "snapshot: the position is of a reader_func that draws {} seeds, and "
                              "this one draws {}. Use that one, or start over.",
                              drawn->size(), seeds.size());
    for (size_t i = 0; i < seeds.size(); ++i) seeds[i]->store(static_cast<uint64_t>((*drawn)[i]));
  }
  drawn_.clear();
  for (const auto* seed : seeds) drawn_.push_back(static_cast<int64_t>(seed->load()));
  input_.emplace(files_->node()->stream(pass_));
}

bool SnapshotStream::next(Element& element) {
  bool more = false;
  try {
    more = input_->next(element);
    if (writer_) keep(element, !more);
  } catch (...) {
    writer_.reset();  // a snapshot must have all elements
    throw;
  }
  return more;
}

void SnapshotStream::keep(const Element& element, bool ended) {
  const int64_t file = ended ? 0 : writer_->file_of(element);
  try {
    ended ? writer_->close() : writer_->write(element, file);
  } catch (const Error& error) {  // elements don't depend on the files
    logging::warn(fmt::format("The elements aren't kept in files: {}", error.what()));
    ended = true;
  }
  if (ended) writer_.reset();
}

Json SnapshotStream::save() const {
  return Json::object({{"read", read_}, {"drawn", drawn_}, {"input", input_->position()}});
}

void SnapshotStream::restore(const Json& state) {
  writer_.reset();  // it would lack the earlier elements
  const Json& read = streams::saved_part(state, "read");
  const Json& drawn = streams::saved_part(state, "drawn");
  const Json& input = streams::saved_part(state, "input");
  check<DataLoss>(read.is_string() && drawn.is_array(), "a position's state {} is damaged.",
                  state.excerpt());
  if (read == Json("")) {
    read_.clear();
    open_input();
  } else {
    check<FailedPrecondition>(read == Json(read_),
                              "snapshot: the position is among elements of files that {} no longer "
                              "has. Restore them, or start over.",
                              node_.path());
    const std::vector<int64_t> seeds = drawn.as_ints();
    open_files(&seeds);
  }
  input_->restore(input);
}

// Identifies a pipeline, as far as possible.
std::string fingerprint_of(const NodePtr& node) {
  const PartialFingerprint print = partial_fingerprint(node);
  if (!print.left_out.empty()) {
    logging::info(
        fmt::format("snapshot: it isn't noticed when what {} does changes, since that can't be "
                    "serialized: remove the snapshot then.",
                    print.left_out));
  }
  return print.digest;
}

}  // namespace

NodePtr make_snapshot(NodePtr input, const std::string& folder, SnapshotOptions options) {
  if (options.compression == "AUTO") options.compression.clear();
  const std::string& type = options.compression;
  const Compression compression = compression_of(type, "snapshot");
  check<InvalidArgument>(!folder.empty(), "snapshot: expected a directory, got ''.");
  make_folder(folder);
  const bool one_file = !options.shard_func && !options.reader_func;
  const std::string name = fingerprint_of(input) + (one_file ? ".elements" : ".folder") +
                           (type.empty() ? "" : "." + type);
  std::string path = (std::filesystem::path(folder) / name).string();
  if (one_file) return make_kept_file(std::move(input), std::move(path), compression, "snapshot");
  return std::make_shared<Snapshot>(std::move(input), std::move(path), std::move(options));
}

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
#include "data/saved_folder.h"

#include <algorithm>
#include <random>

#include "data/serialization/links.h"
#include "data/sources/file_records.h"
#include "data/sources/sources.h"
#include "data/transforms/transforms.h"
#include "framework/core/user_code.h"
#include "framework/io/atomic_file.h"

namespace cornu::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "dataset.json";
constexpr const char* kLock = "save.lock";
constexpr const char* kFormat = "cornu dataset 1";
constexpr size_t kMaxIndexBytes = size_t{1} << 24;
constexpr int64_t kMaxFiles = 1 << 16;

std::string file_name(int64_t number) { return fmt::format("{:05}.elements", number); }

// A name that isn't used by any folder in `path`.
std::string new_folder(const fs::path& path) {
  for (int64_t number = 0;; ++number) {
    std::string name = fmt::format("save-{:04}", number);
    std::error_code error;
    if (fs::create_directory(path / name, error)) return name;
    if (error) raise_file_error((path / name).string(), "be made", error.value());
  }
}

// Identifies a file of a save, so that another file in its place is detected.
std::string label_of(const std::string& id, const fs::path& file) {
  return fmt::format("save {}, {}", id, file.filename().string());
}

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

class SavedStream : public Stream<Element> {
 public:
  SavedStream(const std::string& path, Compression compression, const ElementSpec& spec,
              const std::string& id)
      : reader_(path, compression) {
    check<DataLoss>(reader_.pipeline() == label_of(id, path),
                    "{}: expected the file of {}, got that of {}.", path, label_of(id, path),
                    reader_.pipeline());
    check<DataLoss>(reader_.spec() == spec, "{}: expected elements of the kind {}, got {}.", path,
                    spec, reader_.spec());
  }
  bool next(Element& element) override { return reader_.next(element); }
  void leave_out(int64_t count, int64_t& left_out) override {
    for (; count > 0 && reader_.skip(); --count) ++left_out;
  }

 private:
  ElementFileReader reader_;
};

NodePtr make_saved_elements(NodePtr names, const ElementSpec& spec, const std::string& type,
                            const std::string& id) {
  const Compression compression = compression_of(type, "load");
  const auto open = [compression, spec, id](const std::string& name) {
    return std::make_unique<SavedStream>(name, compression, spec, id);
  };
  const auto write = [spec, type, id](LinkWriter& link) {
    link.kind("saved_elements")("element_spec", spec)("compression", type)("id", id);
  };
  return make_file_records(std::move(names), {"load", "saved_elements", spec, open, write}, {});
}

Dataset files_of(const std::string& path, const SavedIndex& index,
                 const std::vector<int64_t>& files) {
  std::vector<std::string> names;
  int64_t elements = 0;
  for (const int64_t file : files) {
    names.push_back((fs::path(path) / index.folder / file_name(file)).string());
    elements += index.counts[static_cast<size_t>(file)];
  }
  NodePtr records = make_saved_elements(make_tensor_slices(Tensor::from(names)), index.spec,
                                        index.compression, index.id);
  return Dataset(make_assert_cardinality(std::move(records), elements));
}

}  // namespace

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) raise_file_error(path.string(), "be made", error.value());
}

bool SavedIndex::is_in(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / kIndex, error);
}

Json SavedIndex::to_json() const {
  Blobs none;
  LinkWriter index(&none);
  index("format", kFormat)("folder", folder)("id", id)("compression", compression)("element_spec",
                                                                                   spec);
  index("counts", counts);
  return index.config();
}

SavedIndex SavedIndex::read(const std::string& folder) {
  const std::string file = (fs::path(folder) / kIndex).string();
  const auto bytes = read_file(file, kMaxIndexBytes);
  try {
    const Json json = Json::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const Blobs none;
    BlobReader blobs(none);
    LinkReader index(json, {}, blobs, bytes.size());
    const auto format = index.get<std::string>("format");
    check<DataLoss>(format == kFormat, "expected the format '{}', got '{}'.", kFormat, format);
    SavedIndex saved = {.folder = index.get<std::string>("folder"),
                        .id = index.get<std::string>("id"),
                        .compression = index.get<std::string>("compression"),
                        .spec = index.get<ElementSpec>("element_spec"),
                        .counts = index.get<std::vector<int64_t>>("counts")};
    check<DataLoss>(saved.folder.find('/') == std::string::npos && saved.folder != "..",
                    "expected a subfolder, got '{}'.", saved.folder);
    int64_t all = 0;
    for (const int64_t count : saved.counts) {
      check<DataLoss>(count >= 0 && !__builtin_add_overflow(all, count, &all),
                      "expected counts of elements, got {}.", json.excerpt());
    }
    return saved;
  } catch (const Error& error) {
    raise<DataLoss>("{}: this is no index of a saved dataset: {}", file, error.what());
  }
}

SavedFolderWriter::SavedFolderWriter(std::string path, const ElementSpec& spec,
                                     const SaveOptions& options, const char* who, Lock lock)
    : path_(std::move(path)),
      who_(who),
      shard_func_(options.shard_func),
      compression_(compression_of(options.compression, who)) {
  make_folder(path_);
  const fs::path file = fs::path(path_) / kLock;
  lock_ = lock == Lock::Wait ? std::make_unique<FileLock>(file) : FileLock::try_lock(file);
  if (!lock_) return;
  index_ = {.folder = new_folder(path_),
            .id = new_id(),
            .compression = options.compression,
            .spec = spec,
            .counts = {}};
  if (!shard_func_) writer(0);
}

SavedFolderWriter::~SavedFolderWriter() {
  if (!lock_ || closed_) return;
  std::error_code ignored;
  fs::remove_all(fs::path(path_) / index_.folder, ignored);
}

ElementFileWriter& SavedFolderWriter::writer(int64_t file) {
  const auto known = writers_.find(file);
  if (known != writers_.end()) return known->second;
  const fs::path path = fs::path(path_) / index_.folder / file_name(file);
  return writers_
      .emplace(file, ElementFileWriter(path.string(), compression_, index_.spec,
                                       label_of(index_.id, path), {}, Appears::Growing))
      .first->second;
}

int64_t SavedFolderWriter::file_of(const Element& element) const {
  if (!shard_func_) return 0;
  const auto place = [this] { return fmt::format("{}: shard_func, element {}", who_, count_); };
  try {
    const int64_t file = call_user(place, [&] { return shard_func_(element); });
    check<InvalidArgument>(file >= 0 && file < kMaxFiles, "expected a number of 0 to {}, got {}.",
                           kMaxFiles - 1, file);
    return file;
  } catch (Error& error) {
    error.add_place(place());
    throw;
  }
}

void SavedFolderWriter::write(const Element& element, int64_t file) {
  writer(file).write(element);
  ++count_;
}

void SavedFolderWriter::close() {
  std::vector<std::string> paths;
  for (auto& [file, open] : writers_) {
    index_.counts.resize(static_cast<size_t>(file) + 1, 0);
    index_.counts.back() = open.count();
    open.close();
    paths.push_back((fs::path(path_) / index_.folder / file_name(file)).string());
  }
  // Must be done before the index refers to the files.
  sync_files((fs::path(path_) / index_.folder).string(), paths);
  write_file_atomically((fs::path(path_) / kIndex).string(), index_.to_json().dump(2));
  closed_ = true;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    // Folders of earlier saves, and of saves that were killed; other writers wait for the lock.
    const std::string name = entry.path().filename().string();
    if (name.starts_with("save-") && name != index_.folder) fs::remove_all(entry.path(), ignored);
  }
  lock_.reset();
}

Dataset dataset_of(const std::string& path, const SavedIndex& index,
                   const ReaderFunction& reader_func) {
  std::vector<int64_t> files;
  for (int64_t file = 0; file < std::ssize(index.counts); ++file) {
    if (index.counts[static_cast<size_t>(file)] > 0 || index.counts.size() == 1) {
      files.push_back(file);
    }
  }
  if (!reader_func) return files_of(path, index, files);
  std::vector<Dataset> datasets;
  for (const int64_t file : files) datasets.push_back(files_of(path, index, {file}));
  return reader_func(datasets);
}

NodePtr read_saved_elements(LinkReader& link) {
  const auto spec = link.get<ElementSpec>("element_spec");
  const auto compression = link.get<std::string>("compression");
  return make_saved_elements(link.input(), spec, compression, link.get<std::string>("id"));
}

}  // namespace cornu::data

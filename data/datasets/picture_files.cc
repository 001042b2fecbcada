// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/picture_files.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "data/readers/directory_index.h"
#include "data/readers/image/decode_image.h"
#include "data/readers/tar.h"
#include "framework/core/strings.h"
#include "framework/io/archive.h"
#include "framework/io/file_reader.h"

namespace cornu::datasets {
namespace {

namespace fs = std::filesystem;

class FolderStore : public FileStore {
 public:
  explicit FolderStore(fs::path folder) : folder_(std::move(folder)) {}

  std::vector<std::string> names() const override { return data::files_below(folder_); }
  std::string place(const std::string& name) const override { return (folder_ / name).string(); }
  std::shared_ptr<Buffer> read(const std::string& name) const override {
    return read_whole_file(folder_ / name);
  }

 private:
  fs::path folder_;
};

std::string member_of(const fs::path& archive, const std::string& name) {
  return fmt::format("{}: member '{}'", archive.string(), name);
}

// A reader can be used by one thread at a time; there are as many as have been in use concurrently.
class ZipStore : public FileStore {
 public:
  explicit ZipStore(fs::path archive) : archive_(std::move(archive)) {
    free_.push_back(std::make_unique<ArchiveReader>(archive_.string()));
    names_ = free_.front()->names();
    require_inside(archive_.string(), names_);
  }

  std::vector<std::string> names() const override { return names_; }
  std::string place(const std::string& name) const override { return member_of(archive_, name); }
  std::shared_ptr<Buffer> read(const std::string& name) const override {
    std::unique_ptr<ArchiveReader> reader = take();
    auto bytes = reader->read_buffer(name);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(reader));
    return bytes;
  }

 private:
  std::unique_ptr<ArchiveReader> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto reader = std::move(free_.back());
        free_.pop_back();
        return reader;
      }
    }
    return std::make_unique<ArchiveReader>(archive_.string());
  }

  fs::path archive_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ArchiveReader>> free_;
};

class TarStore : public FileStore {
 public:
  TarStore(fs::path archive, const std::function<bool(const std::string&)>& wanted)
      : archive_(std::move(archive)) {
    const auto file = read_whole_file(archive_);
    data::TarReader tar({file->data(), file->bytes()}, archive_.string());
    for (data::TarEntry entry; tar.next(entry);) {
      if (entry.kind == data::TarKind::File && wanted(entry.name)) files_[entry.name] = tar.read();
    }
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) names.push_back(name);
    return names;
  }
  std::string place(const std::string& name) const override { return member_of(archive_, name); }
  std::shared_ptr<Buffer> read(const std::string& name) const override { return files_.at(name); }

 private:
  fs::path archive_;
  std::map<std::string, std::shared_ptr<Buffer>> files_;
};

struct Picture {
  std::string name;
  int64_t label = 0;
};

// The images of a set, ordered by label and name.
struct Pictures {
  std::unique_ptr<FileStore> store;
  std::vector<Picture> list;
  bool as_supervised = false;
  bool with_filename = false;

  data::Element element(size_t index) const {
    const Picture& picture = list.at(index);
    const auto file = store->read(picture.name);
    return element(
        data::decode_image({file->data(), file->bytes()},
                           {.channels = 3, .expand_animations = false}, store->place(picture.name)),
        picture);
  }
  data::Element element(const Tensor& image, const Picture& picture) const {
    const Tensor label = Tensor::scalar(picture.label);
    if (as_supervised) return {image, label};
    std::vector<Tensors::Named> members = {{"image", image}, {"label", label}};
    if (with_filename) members.emplace_back("image/filename", Tensor::scalar(picture.name));
    return Tensors::named(std::move(members));
  }
  data::ElementSpec spec() const {
    auto spec = spec_of(element(Tensor::empty({0, 0, 3}, DType::UInt8), {}));
    spec.types[0].shape = {kUnknown, kUnknown, 3};
    return spec;
  }
};

// The folder with the class folders, if the archive was extracted there; otherwise empty.
fs::path unpacked_folder(const PictureSetDefinition& definition, const fs::path& path) {
  for (const fs::path& folder : {path, path / definition.root}) {
    const bool has_all =
        std::all_of(definition.classes.begin(), definition.classes.end(), [&](const auto& names) {
          std::error_code error;
          return fs::is_directory(folder / names.second, error);
        });
    if (has_all) return folder;
  }
  return {};
}

// Whether a JPEG has its end marker. In the first half of a truncated file, there may be the end
// marker of an embedded thumbnail.
bool has_end(std::span<const std::byte> file) {
  for (size_t i = file.size(); i-- > file.size() / 2 + 1;) {
    if (file[i - 1] == std::byte{0xff} && file[i] == std::byte{0xd9}) return true;
  }
  return false;
}

// The class of a file, determined by its folder; -1: none.
int64_t label_of(const PictureSetDefinition& definition, const std::string& name) {
  const fs::path path(name);
  if (lower_case(path.extension().string()) != ".jpg") return -1;
  for (size_t label = 0; label < definition.classes.size(); ++label) {
    const fs::path folder = definition.classes[label].second;
    const fs::path parent = path.parent_path();
    if (parent == folder || parent == definition.root / folder) return static_cast<int64_t>(label);
  }
  return -1;
}

std::unique_ptr<FileStore> open_store(const PictureSetDefinition& definition,
                                      const PictureSetOptions& options) {
  if (!options.path.empty()) {
    const fs::path folder = unpacked_folder(definition, options.path);
    if (!folder.empty()) return open_folder(folder);
  }
  const fs::path archive =
      find_dataset_file(definition.archive, {.path = options.path, .download = options.download});
  if (archive.extension() == ".zip") return open_zip(archive);
  return open_tar(archive,
                  [&](const std::string& name) { return label_of(definition, name) >= 0; });
}

}  // namespace

std::unique_ptr<FileStore> open_folder(const fs::path& folder) {
  return std::make_unique<FolderStore>(folder);
}
std::unique_ptr<FileStore> open_zip(const fs::path& archive) {
  return std::make_unique<ZipStore>(archive);
}
std::unique_ptr<FileStore> open_tar(const fs::path& archive,
                                    const std::function<bool(const std::string&)>& wanted) {
  return std::make_unique<TarStore>(archive, wanted);
}

PictureSet load_pictures(const PictureSetDefinition& definition, const PictureSetOptions& options) {
  auto pictures = std::make_shared<Pictures>();
  pictures->store = open_store(definition, options);
  pictures->as_supervised = options.as_supervised;
  pictures->with_filename = definition.with_filename;
  PictureSetInfo info;
  info.class_counts.resize(definition.classes.size());
  for (const auto& [name, folder] : definition.classes) info.class_names.push_back(name);
  for (const std::string& name : pictures->store->names()) {
    const int64_t label = label_of(definition, name);
    if (label < 0) continue;
    const auto file = pictures->store->read(name);
    const std::span<const std::byte> bytes(file->data(), file->bytes());
    if (!definition.is_picture(bytes) || !has_end(bytes)) {
      ++info.num_skipped;
      continue;
    }
    ++info.class_counts[static_cast<size_t>(label)];
    pictures->list.push_back({name, label});
  }
  auto& list = pictures->list;
  check<DataLoss>(!list.empty(), "{}: there is no image in {}.", definition.archive.title,
                  pictures->store->place(definition.root));
  std::sort(list.begin(), list.end(), [](const Picture& a, const Picture& b) {
    return std::tie(a.label, a.name) < std::tie(b.label, b.name);
  });
  info.splits["train"] = std::ssize(list);

  Tensor numbers = Tensor::empty({std::ssize(list)}, DType::Int64);
  const auto values = numbers.mutable_data<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  const auto load = [pictures](const Tensor& number) {
    return pictures->element(number.item<size_t>());
  };
  return {
      data::Dataset::from_tensor_slices(numbers).map(load, {.num_parallel_calls = data::kAutotune,
                                                            .output_signature = pictures->spec(),
                                                            .traced = false}),
      std::move(info)};
}

}  // namespace cornu::datasets

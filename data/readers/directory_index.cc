// SPDX-License-Identifier: Apache-2.0
#include "data/readers/directory_index.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "data/numpy_random.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

namespace fs = std::filesystem;

void require_readable(const fs::path& folder, const std::error_code& error) {
  check<FailedPrecondition>(!error, "{}: the directory can't be read: {}.", folder.string(),
                            error.message());
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(*it);
  }
  require_readable(folder, error);
  return entries;
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_directory(error);
}

class FolderWalk {
 public:
  explicit FolderWalk(const IndexDirectoryOptions& options) : options_(options) {}

  // The paths of the wanted files in and below `folder`, ordered by directory and name.
  std::vector<std::string> files_below(const fs::path& folder) {
    visit(folder, {});
    std::sort(found_.begin(), found_.end());
    std::vector<std::string> paths;
    for (const auto& [parent, name] : found_) paths.push_back((fs::path(parent) / name).string());
    return paths;
  }

 private:
  void visit(const fs::path& folder, std::set<fs::path> above) {
    if (options_.follow_links) {
      // A link to a parent directory would cause infinite recursion.
      std::error_code error;
      const fs::path place = fs::canonical(folder, error);
      require_readable(folder, error);
      if (!above.insert(place).second) return;
    }
    for (const fs::directory_entry& entry : entries_of(folder)) {
      if (is_folder(entry)) {
        std::error_code error;
        if (options_.follow_links || !entry.is_symlink(error)) visit(entry.path(), above);
      } else if (is_wanted(entry.path().filename().string())) {
        found_.emplace_back(folder.string(), entry.path().filename().string());
      }
    }
  }

  bool is_wanted(const std::string& file) const {
    const std::string name = lower_case(file);
    return std::any_of(options_.formats.begin(), options_.formats.end(),
                       [&](const std::string& format) { return name.ends_with(format); });
  }

  const IndexDirectoryOptions& options_;
  std::vector<std::pair<std::string, std::string>> found_;  // directory and name
};

std::vector<std::string> classes_in(const fs::path& directory,
                                    const IndexDirectoryOptions& options) {
  std::vector<std::string> folders;
  for (const fs::directory_entry& entry : entries_of(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && is_folder(entry)) folders.push_back(name);
  }
  std::sort(folders.begin(), folders.end());
  for (const std::string& name : options.class_names) {
    check<InvalidArgument>(std::binary_search(folders.begin(), folders.end(), name),
                           "{}: expected class_names to be names of its subfolders ({}), got '{}'.",
                           directory.string(), join(folders, ", "), name);
  }
  return options.class_names.empty() ? folders : options.class_names;
}

void add_listed(DirectoryIndex& index, const fs::path& directory,
                const std::vector<int64_t>& labels) {
  check<InvalidArgument>(labels.size() == index.file_paths.size(),
                         "{}: expected one label for each file, got {} labels for {} files.",
                         directory.string(), labels.size(), index.file_paths.size());
  index.labels = labels;
  for (const int64_t label : std::set<int64_t>(labels.begin(), labels.end())) {
    index.class_names.push_back(std::to_string(label));
  }
}

}  // namespace

FileLabels::FileLabels(const char* how) {
  if (how) *this = FileLabels(std::string(how));
}

FileLabels::FileLabels(const std::string& how) : inferred_(true) {
  check<InvalidArgument>(how == "inferred",
                         "labels: expected \"inferred\", none, or one number for each file, got "
                         "\"{}\".",
                         how);
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unknown;  // if the type can't be determined
    if (it->is_regular_file(unknown)) {
      files.push_back(it->path().lexically_relative(folder).generic_string());
    }
  }
  require_readable(folder, error);
  return files;
}

DirectoryIndex index_directory(const fs::path& directory, const IndexDirectoryOptions& options) {
  std::error_code error;
  check<NotFound>(fs::is_directory(directory, error), "{}: there is no such directory.",
                  directory.string());
  check<InvalidArgument>(options.labels.inferred() || options.class_names.empty(),
                         "class_names can be given with labels \"inferred\" only.");
  DirectoryIndex index;
  if (options.labels.inferred()) {
    index.class_names = classes_in(directory, options);
    for (size_t i = 0; i < index.class_names.size(); ++i) {
      const auto files = FolderWalk(options).files_below(directory / index.class_names[i]);
      index.file_paths.insert(index.file_paths.end(), files.begin(), files.end());
      index.labels.resize(index.file_paths.size(), static_cast<int64_t>(i));
    }
  } else {
    index.file_paths = FolderWalk(options).files_below(directory);
    if (options.labels.list()) add_listed(index, directory, *options.labels.list());
  }
  if (options.shuffle_seed) {
    NumpyRandomState(*options.shuffle_seed).shuffle(std::span(index.file_paths));
    NumpyRandomState(*options.shuffle_seed).shuffle(std::span(index.labels));
  }
  return index;
}

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/keras_file_editor.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/console.h"
#include "framework/model/input.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/keras_archive.h"
#include "framework/saving/weight_paths.h"
#include "framework/saving/weights_source.h"

namespace cornu {
namespace {

constexpr std::string_view kEnding = ".weights.h5";
constexpr char kVars[] = "vars";

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_within(const std::string& path, const std::string& object) {
  return path == object || path.starts_with(object + "/");
}

// Checks that a file can store the name and read it back.
void check_name(const std::string& file, const std::string& name) {
  check<InvalidArgument>(
      !name.empty() && name != "." && name != kVars && name.find('/') == std::string::npos,
      "{}: expected a name that isn't empty, '.' or '{}' and has no '/', got "
      "'{}'.",
      file, kVars, printable(name));
}

void check_weights(const std::string& file, const KerasFileEditor::Weights& weights) {
  for (const auto& [name, weight] : weights) {
    check_name(file, name);
    check<InvalidArgument>(weight.defined() && weight.dtype() != DType::String &&
                               !weight.is_symbolic() && !is_placeholder(weight),
                           "{}: expected numbers as the weight '{}', got {}.", file,
                           printable(name), weight);
  }
}

std::string shown(const std::string& path) { return path.empty() ? "/" : printable(path); }

}  // namespace

// Traverses a file's groups.
class KerasFileEditor::Reading {
 public:
  Reading(const WeightsSource& source, std::map<std::string, Object>& objects)
      : source_(source), objects_(objects) {}

  void visit(const std::string& path, int depth = 0) {
    constexpr int kDeepest = 64;
    constexpr size_t kMaxObjects = size_t{1} << 20;
    check<DataLoss>(depth <= kDeepest && ++visited_ <= kMaxObjects,
                    "{}: its groups are more than {} deep, or too many.", source_.name(), kDeepest);
    for (const std::string& name : source_.children(path)) {
      const std::string inner = group_in(path, name);
      if (!path.empty() && source_.file_of(path, name)) {
        add(path, path, name);
      } else if (name == kVars) {
        for (const std::string& item : source_.children(inner)) add(path, inner, item);
      } else {
        visit(inner, depth + 1);
      }
    }
  }

 private:
  void add(const std::string& object, const std::string& group, const std::string& item) {
    const Hdf5Reader* file = source_.file_of(group, item);
    if (!file) return;  // a group among the weights, which Keras skips, too
    const std::string path = group_in(group, item);
    const auto [shape, dtype] = file->describe(path);
    // A dataset may be linked several times.
    bytes_ += shape.num_bytes(size_of(dtype));
    check<DataLoss>(bytes_ <= source_.bytes(),
                    "{}: it says that it has more weights than it holds.", source_.name());
    Object& to = objects_[object];
    to.weights[item] = file->read(path, shape, dtype);
    if (to.name.empty()) to.name = file->string_attribute(group, "name").value_or("");
  }

  const WeightsSource& source_;
  std::map<std::string, Object>& objects_;
  uint64_t bytes_ = 0;
  size_t visited_ = 0;
};

KerasFileEditor::KerasFileEditor(const std::string& filepath) : filepath_(filepath) {
  const bool archived = filepath.ends_with(".keras");
  check<InvalidArgument>(archived || filepath.ends_with(kEnding),
                         "KerasFileEditor expected a path that ends in '.keras' or '{}', got '{}'.",
                         kEnding, filepath);
  if (archived) {
    const KerasArchive archive(filepath);
    config_ = archive.config();
    Reading(archive.weights(), objects_).visit("");
  } else {
    Reading(WeightsSource::open(filepath), objects_).visit("");
  }
}

std::vector<std::string> KerasFileEditor::objects() const {
  std::vector<std::string> paths;
  for (const auto& [path, object] : objects_) paths.push_back(path);
  return paths;
}

bool KerasFileEditor::is_there(const std::string& path) const {
  if (path.empty()) return true;
  const auto next = objects_.lower_bound(path);
  if (next != objects_.end() && next->first == path) return true;
  const auto below = objects_.lower_bound(path + "/");
  return below != objects_.end() && below->first.starts_with(path + "/");
}

std::string KerasFileEditor::path_of(const std::string& object_name) const {
  std::set<std::string> found, known;
  if (is_there(object_name)) found.insert(object_name);
  for (const auto& [path, object] : objects_) {
    for (std::string part = path; !part.empty(); part = parent_group(part)) {
      known.insert(last_part(part));
      if (last_part(part) == object_name) found.insert(part);
    }
  }
  check<NotFound>(!found.empty(), "{} has no object '{}'.{}", filepath_, object_name,
                  did_you_mean(object_name, std::vector<std::string>(known.begin(), known.end())));
  check<InvalidArgument>(
      found.size() == 1, "{} has several objects '{}': {}. Pass the whole path of one.", filepath_,
      object_name, join(std::vector<std::string>(found.begin(), found.end()), ", "));
  return *found.begin();
}

KerasFileEditor::Object& KerasFileEditor::at(const std::string& object_name) {
  return objects_[path_of(object_name)];
}

const KerasFileEditor::Weights& KerasFileEditor::weights(const std::string& object_name) const {
  static const Weights none;
  const auto found = objects_.find(path_of(object_name));
  return found == objects_.end() ? none : found->second.weights;
}

void KerasFileEditor::summary(const std::function<void(const std::string&)>& print_fn) const {
  const auto print = [&](const std::string& line) {
    if (print_fn) {
      print_fn(line);
    } else {
      console::write(line + "\n");
    }
  };
  for (const auto& [path, object] : objects_) {
    print(object.name.empty() ? shown(path)
                              : fmt::format("{} ('{}')", shown(path), printable(object.name)));
    for (const auto& [name, weight] : object.weights) {
      print(fmt::format("    {}: shape={}, dtype={}", printable(name), weight.shape(),
                        weight.dtype()));
    }
  }
}

KerasFileEditor::Comparison KerasFileEditor::compare(const Layer& reference_model) const {
  Comparison result;
  std::set<std::string> known;
  for (const SavedLayer& saved : weight_paths(reference_model)) {
    if (saved.weights.empty()) continue;
    known.insert(saved.path);
    const auto found = objects_.find(saved.path);
    if (found == objects_.end()) {
      result.errors.push_back(
          fmt::format("'{}' is in the reference model, but not in the file.", shown(saved.path)));
      continue;
    }
    const Weights& weights = found->second.weights;
    for (size_t i = 0; i < saved.weights.size(); ++i) {
      const std::string place = group_in(saved.path, std::to_string(i));
      const auto weight = weights.find(std::to_string(i));
      if (weight == weights.end()) {
        result.errors.push_back(
            fmt::format("'{}' is in the reference model, but not in the file.", place));
      } else if (weight->second.shape() != saved.weights[i].shape()) {
        result.errors.push_back(fmt::format("'{}': the file has shape {}, the reference model {}.",
                                            place, weight->second.shape(),
                                            saved.weights[i].shape()));
      } else {
        ++result.match_count;
      }
    }
    if (weights.size() > saved.weights.size()) {
      result.errors.push_back(
          fmt::format("'{}' has {} weights in the file, {} in the reference "
                      "model.",
                      shown(saved.path), weights.size(), saved.weights.size()));
    }
  }
  for (const auto& [path, object] : objects_) {
    if (known.contains(path) || is_within(path, "optimizer")) continue;
    result.errors.push_back(
        fmt::format("'{}' is in the file, but not in the reference model.", shown(path)));
  }
  result.error_count = std::ssize(result.errors);
  result.status = result.errors.empty() ? "success" : "error";
  return result;
}

void KerasFileEditor::rename_object(const std::string& object_name, const std::string& new_name) {
  check_name(filepath_, new_name);
  const std::string before = path_of(object_name);
  check<InvalidArgument>(!before.empty(), "{}: the model itself has no name in it.", filepath_);
  const std::string after = group_in(parent_group(before), new_name);
  check<AlreadyExists>(!is_there(after), "{}: there is an object '{}' already.", filepath_, after);
  std::map<std::string, Object> renamed;
  for (auto& [path, object] : objects_) {
    const bool moves = is_within(path, before);
    renamed.emplace(moves ? after + path.substr(before.size()) : path, std::move(object));
  }
  objects_ = std::move(renamed);
}

void KerasFileEditor::delete_object(const std::string& object_name) {
  const std::string path = path_of(object_name);
  std::erase_if(objects_, [&](const auto& one) { return is_within(one.first, path); });
}

void KerasFileEditor::add_object(const std::string& object_path, const Weights& weights) {
  const std::string parent = parent_group(object_path);
  check<NotFound>(is_there(parent), "{} has no object '{}', in which '{}' is to be.", filepath_,
                  parent, object_path);
  check<AlreadyExists>(!is_there(object_path), "{}: there is an object '{}' already.", filepath_,
                       object_path);
  check_name(filepath_, last_part(object_path));
  check_weights(filepath_, weights);
  objects_[object_path].weights = weights;
}

void KerasFileEditor::delete_weight(const std::string& object_name,
                                    const std::string& weight_name) {
  Weights& weights = at(object_name).weights;
  std::vector<std::string> known;
  for (const auto& [name, weight] : weights) known.push_back(name);
  check<NotFound>(weights.erase(weight_name) == 1, "{}: its object '{}' has no weight '{}'.{}",
                  filepath_, object_name, weight_name, did_you_mean(weight_name, known));
}

void KerasFileEditor::add_weights(const std::string& object_name, const Weights& weights) {
  check_weights(filepath_, weights);
  Weights& all = at(object_name).weights;
  for (const auto& [name, weight] : weights) all.insert_or_assign(name, weight);
}

void KerasFileEditor::save(const std::string& filepath) const {
  check<InvalidArgument>(filepath.ends_with(kEnding),
                         "KerasFileEditor: save expected a path that ends in '{}', got '{}'.",
                         kEnding, filepath);
  Hdf5Writer writer;
  for (const auto& [path, object] : objects_) {
    const std::string group = group_in(path, kVars);
    writer.make_group(group);
    if (!object.name.empty()) writer.set_attribute(group, "name", object.name);
    for (const auto& [name, weight] : object.weights) writer.write(group_in(group, name), weight);
  }
  const Hdf5Image image = writer.take();
  write_file_atomically(filepath, image.pieces);
}

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/commands/data.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "framework/core/strings.h"
#include "framework/train/body.h"

namespace apps {
namespace {

namespace fs = std::filesystem;
using cornu::check;
using cornu::InvalidArgument;
using cornu::Model;
using cornu::Shape;
using cornu::Tensor;
using cornu::Tensors;

const cornu::FunctionalGraph* graph_of(const Model& model) {
  return model.body() ? model.body()->graph() : nullptr;
}

bool is_picture(const fs::path& path) {
  static const std::set<std::string> kEndings = {".png", ".jpg", ".jpeg", ".gif", ".bmp"};
  return kEndings.contains(cornu::lower_case(path.extension().string()));
}

// All pictures in a folder and its subfolders, sorted by name.
std::vector<fs::path> pictures_in(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error) && is_picture(it->path())) result.push_back(it->path());
  }
  check<cornu::FailedPrecondition>(!error, "The directory '{}' can't be read: {}.", folder.string(),
                                   error.message());
  check<InvalidArgument>(!result.empty(),
                         "The directory '{}' has no images (.png, .jpg, .gif, .bmp).",
                         folder.string());
  std::sort(result.begin(), result.end());
  return result;
}

// How pictures are converted for an input (batch, height, width, channels).
cornu::data::LoadImageOptions picture_options(const Shape& shape, const std::string& file,
                                              const PictureArguments& pictures) {
  const int64_t channels = shape.rank() == 4 ? shape.back() : 0;
  check<InvalidArgument>(
      channels == 1 || channels == 3 || channels == 4,
      "'{}' is an image, or a directory of images; the model's input is {}. Expected one (batch, "
      "height, width, channels) of 1, 3 or 4 channels; give an array (.npy).",
      file, shape);
  cornu::data::LoadImageOptions options{.color_mode = channels == 1   ? "grayscale"
                                                      : channels == 3 ? "rgb"
                                                                      : "rgba",
                                        .interpolation = pictures.interpolation};
  if (shape[1] != cornu::kUnknown && shape[2] != cornu::kUnknown) {
    options.target_size = {shape[1], shape[2]};
  }
  return options;
}

Tensor preprocessed(const Tensor& pictures, const std::string& how) {
  namespace utils = cornu::applications::imagenet_utils;
  if (how == "tf") return utils::preprocess_input(pictures, utils::PreprocessMode::Tf);
  if (how == "torch") return utils::preprocess_input(pictures, utils::PreprocessMode::Torch);
  if (how == "caffe") return utils::preprocess_input(pictures, utils::PreprocessMode::Caffe);
  return pictures;
}

// Splits "data.npz:x_train" in two; nullopt if no array is named.
std::optional<std::pair<std::string, std::string>> named_array(const std::string& file) {
  constexpr std::string_view kMark = ".npz:";
  const size_t at = file.rfind(kMark);
  if (at == std::string::npos) return std::nullopt;
  return std::pair(file.substr(0, at + kMark.size() - 1), file.substr(at + kMark.size()));
}

// Selects an array of an archive: the only one, or the first of these names that exists.
Tensor only_array(const std::string& path, const std::vector<std::string>& names) {
  const cornu::data::NpzReader archive(path);
  const std::vector<std::string>& known = archive.names();
  if (known.size() == 1) return archive.read(known[0]);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) return archive.read(name);
  }
  cornu::raise<InvalidArgument>("'{}' has {} arrays ({}). Say which: {}:{}", path, known.size(),
                                cornu::join(known, ", "), path, known.empty() ? "x" : known[0]);
}

// Reads an array file; nullopt for other files.
std::optional<Tensor> read_array(const std::string& file, const std::vector<std::string>& names) {
  if (const auto named = named_array(file)) {
    return cornu::data::NpzReader(named->first).read(named->second);
  }
  const std::string ending = fs::path(file).extension().string();
  if (ending == ".npy") return cornu::data::load_npy(file);
  if (ending == ".npz") return only_array(file, names);
  return std::nullopt;
}

// Splits "left=a.npy" in two if `left` is one of the names; otherwise returns only the file.
std::pair<std::string, std::string> named_file(const std::string& argument,
                                               const std::vector<std::string>& known) {
  const size_t at = argument.find('=');
  if (at == std::string::npos) return {"", argument};
  std::pair parts(argument.substr(0, at), argument.substr(at + 1));
  if (std::ranges::find(known, parts.first) != known.end()) return parts;
  std::error_code ignored;
  check<InvalidArgument>(fs::exists(argument, ignored) || named_array(argument),
                         "'{}': the model has no input or output named '{}'.{}", argument,
                         parts.first, cornu::did_you_mean(parts.first, known));
  return {"", argument};
}

// Reads a single archive with all inputs (or outputs) of a model that has several.
std::optional<Tensors> from_archive(const std::vector<std::string>& files,
                                    const std::vector<std::string>& names) {
  if (files.size() != 1 || names.size() < 2 || !files[0].ends_with(".npz")) return std::nullopt;
  const cornu::data::NpzReader archive(files[0]);
  std::vector<Tensors::Named> tensors;
  for (const std::string& name : names) tensors.emplace_back(name, archive.read(name));
  return Tensors::named(std::move(tensors));
}

void check_count(size_t given, size_t expected, const char* what, const std::string& names) {
  check<InvalidArgument>(given == expected,
                         "The model has {0} {1}{4} ({2}), but the number of files is {3}. Give one "
                         "for each {1}, or an archive (.npz) with arrays of these names.",
                         expected, what, names, given, expected == 1 ? "" : "s");
}

void check_all_named(int64_t named, size_t count, const char* what,
                     const std::vector<std::string>& names) {
  check<InvalidArgument>(named == 0 || named == static_cast<int64_t>(count),
                         "Some {} were given by name, and some without. Name all of them: {}.",
                         what, cornu::join(names, ", "));
}

Tensor with_examples(Tensor array, const std::string& file) {
  check<InvalidArgument>(array.rank() > 0,
                         "'{}': expected an array whose first axis is the examples', got a number.",
                         file);
  return array;
}

}  // namespace

Inputs::Inputs(const Model& model, const std::vector<std::string>& files,
               const PictureArguments& pictures)
    : pictures_(pictures) {
  const cornu::FunctionalGraph* graph = graph_of(model);
  const auto names = graph ? graph->input_names() : std::vector<std::string>();
  if (const auto arrays = from_archive(files, names)) {
    for (size_t i = 0; i < names.size(); ++i) {
      columns_.push_back({.input = names[i], .values = with_examples((*arrays)[i], files[0])});
    }
    files_ = files;
    check_sizes();
    return;
  }
  if (graph) check_count(files.size(), names.size(), "input", cornu::join(names, ", "));
  for (size_t i = 0; i < files.size(); ++i) {
    const auto [name, file] = named_file(files[i], names);
    size_t place = i;
    if (!name.empty()) {
      place = static_cast<size_t>(std::ranges::find(names, name) - names.begin());
    }
    columns_.push_back(read(file, name, graph ? graph->inputs()[place].shape() : Shape()));
    const auto of_archive = named_array(file);
    files_.push_back(of_archive ? of_archive->first : file);
  }
  const auto is_named = [](const Column& column) { return !column.input.empty(); };
  check_all_named(std::ranges::count_if(columns_, is_named), columns_.size(), "inputs", names);
  check_sizes();
}

// Row i of each column belongs to example i.
void Inputs::check_sizes() const {
  for (size_t i = 1; i < columns_.size(); ++i) {
    check<InvalidArgument>(size_of(columns_[i]) == size(),
                           "Expected as many examples for every input, got {} in '{}' and {} in "
                           "'{}'.",
                           size(), files_.front(), size_of(columns_[i]),
                           files_[std::min(i, files_.size() - 1)]);
  }
}

Inputs::Column Inputs::read(const std::string& file, const std::string& input,
                            const Shape& shape) const {
  Column column{.input = input};
  if (auto array = read_array(file, {input, "x"})) {
    column.values = with_examples(*std::move(array), file);
    return column;
  }
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    column.folder = file;
    column.pictures = pictures_in(file);
  } else {
    check<cornu::NotFound>(fs::exists(file, ignored), "There is no file '{}'.", file);
    check<InvalidArgument>(is_picture(file),
                           "'{}': expected an array (.npy, .npz), an image (.png, .jpg, .gif, "
                           ".bmp) or a directory of images.",
                           file);
    column.pictures = {file};
  }
  column.options = picture_options(shape, file, pictures_);
  return column;
}

int64_t Inputs::size_of(const Column& column) {
  return column.values.defined() ? column.values.dim(0)
                                 : static_cast<int64_t>(column.pictures.size());
}

int64_t Inputs::size() const { return size_of(columns_.front()); }

Tensor Inputs::load(const Column& column, int64_t begin, int64_t end) const {
  if (column.values.defined()) return column.values.rows(begin, end);
  std::vector<Tensor> pictures;
  for (int64_t i = begin; i < end; ++i) {
    const fs::path& path = column.pictures.at(static_cast<size_t>(i));
    pictures.push_back(cornu::data::img_to_array(cornu::data::load_img(path, column.options)));
    check<InvalidArgument>(pictures.back().shape() == pictures.front().shape(),
                           "'{}' is {}, '{}' is {}: the model's input leaves the size open, so all "
                           "images must have the same size. Resize them.",
                           path.string(), pictures.back().shape(),
                           column.pictures.at(static_cast<size_t>(begin)).string(),
                           pictures.front().shape());
  }
  return preprocessed(cornu::ops::stack(pictures, 0), pictures_.preprocess);
}

Tensors Inputs::rows(int64_t begin, int64_t end) const {
  std::vector<Tensors::Named> named;
  std::vector<Tensor> list;
  for (const Column& column : columns_) {
    list.push_back(load(column, begin, std::min(end, size())));
    named.emplace_back(column.input, list.back());
  }
  if (columns_.front().input.empty()) return list;
  return Tensors::named(std::move(named));
}

std::vector<std::string> Inputs::names() const {
  std::vector<std::string> result;
  for (const fs::path& path : columns_.front().pictures) result.push_back(path.string());
  return result;
}

Tensor Inputs::classes() const {
  const Column& column = columns_.front();
  check<InvalidArgument>(columns_.size() == 1 && !column.folder.empty(),
                         "Targets are missing. Pass them (--y), or pass as --x a directory with a "
                         "subdirectory of images for each class.");
  std::map<std::string, int32_t> numbers;
  std::vector<std::string> names;
  for (const fs::path& path : column.pictures) {
    const fs::path within = path.lexically_relative(column.folder);
    names.push_back(within.begin()->string());
    check<InvalidArgument>(std::next(within.begin()) != within.end(),
                           "'{}' isn't in a class directory, so its target is unknown. Pass "
                           "targets (--y), or move it into a subdirectory of '{}'.",
                           path.string(), column.folder.string());
    numbers.emplace(names.back(), 0);
  }
  int32_t next = 0;
  for (auto& [name, number] : numbers) number = next++;
  std::vector<int32_t> labels;
  for (const std::string& name : names) labels.push_back(numbers.at(name));
  return Tensor::from(labels);
}

Tensors read_targets(const Model& model, const std::vector<std::string>& files) {
  const cornu::FunctionalGraph* graph = graph_of(model);
  const auto names = graph ? graph->output_names() : std::vector<std::string>();
  if (const auto arrays = from_archive(files, names)) return *arrays;
  if (graph) check_count(files.size(), names.size(), "output", cornu::join(names, ", "));
  std::vector<Tensors::Named> named;
  std::vector<Tensor> list;
  for (const std::string& argument : files) {
    const auto [name, file] = named_file(argument, names);
    const auto array = read_array(file, {name, "y"});
    check<InvalidArgument>(array.has_value(), "'{}': expected targets as an array (.npy, .npz).",
                           file);
    list.push_back(*array);
    named.emplace_back(name, *array);
  }
  const auto is_named = [](const Tensors::Named& entry) { return !entry.first.empty(); };
  const auto count = std::ranges::count_if(named, is_named);
  check_all_named(count, named.size(), "targets", names);
  return count > 0 ? Tensors::named(std::move(named)) : Tensors(list);
}

std::vector<std::string> output_names(const Model& model, size_t count) {
  const cornu::FunctionalGraph* graph = graph_of(model);
  std::vector<std::string> names = graph ? graph->output_names() : std::vector<std::string>();
  if (names.size() == count) {
    // A layer may be called several times, and have several outputs.
    std::set<std::string> taken;
    for (std::string& name : names) {
      const std::string stem = name;
      for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    }
    return names;
  }
  names.clear();
  for (size_t i = 0; i < count; ++i) {
    names.push_back(i == 0 ? "output" : fmt::format("output_{}", i + 1));
  }
  return names;
}

}  // namespace apps

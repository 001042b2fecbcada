// SPDX-License-Identifier: Apache-2.0
#include "data/sources/labeled_files.h"

#include <span>

#include "data/serialization/links.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/io/crc.h"

namespace cornu::data {
namespace {

// A table whose rows are file numbers, so that only numbers are shuffled.
class FileNumbers : public Node {
 public:
  FileNumbers(int64_t count, uint32_t checksum, std::string name)
      : count_(count), name_(std::move(name)), checksum_(checksum) {
    Tensor numbers = Tensor::empty({count_}, DType::Int64);
    const auto values = numbers.mutable_data<int64_t>();
    for (int64_t i = 0; i < count_; ++i) values[static_cast<size_t>(i)] = i;
    table_ = numbers;
    spec_ = spec_of(Tensor::scalar(int64_t{0}));
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return count_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("{}({}, names {:08x})", name_, count_, checksum_);
  }
  void write(LinkWriter& link) const override {
    link.kind("file_numbers")("count", count_)("name", name_)("checksum", int64_t{checksum_});
  }
  const Element* table() const override { return &table_; }
  StreamPtr<Row> rows(Pass) const override { return std::make_unique<streams::RowStream>(count_); }
  StreamPtr<Element> elements(Pass pass) const override {
    return elements_of_rows(table_, rows(pass));
  }

 private:
  int64_t count_;
  std::string name_;
  Element table_;
  ElementSpec spec_;
  uint32_t checksum_;  // of the file names
};

// A checksum of the file names that doesn't depend on the directory.
uint32_t checksum_of(const LabeledFiles& files) {
  uint32_t checksum = 0;
  for (const std::string& path : files.paths) {
    const auto relative = std::filesystem::path(path).lexically_relative(files.directory).string();
    checksum = crc32c(std::as_bytes(std::span(relative.c_str(), relative.size() + 1)), checksum);
  }
  return checksum;
}

Tensor label_of(const LabeledFiles& files, int64_t label) {
  if (files.label_mode == "int") return Tensor::scalar(static_cast<int32_t>(label));
  if (files.label_mode == "binary") return Tensor::from({static_cast<float>(label)});
  std::vector<float> one_hot(files.classes, 0.0f);
  one_hot[static_cast<size_t>(label)] = 1;
  return Tensor::from(one_hot);
}

}  // namespace

Element LabeledFiles::element_of(const Tensor& content, size_t number) const {
  if (label_mode.empty()) return content;
  return {content, label_of(*this, labels[number])};
}

ElementSpec LabeledFiles::spec_of_contents(const TensorType& content) const {
  ElementSpec spec = spec_of(element_of(Tensor::scalar(0), 0));
  spec.types.front() = content;
  return spec;
}

size_t LabeledFiles::number_in(const Element& row) const {
  const auto number = row.tensor(0).item<int64_t>();
  check<OutOfRange>(0 <= number && number < std::ssize(paths),
                    "expected the number of a file in [0, {}), got {}.", paths.size(), number);
  return static_cast<size_t>(number);
}

void write_files(LinkWriter& link, const LabeledFiles& files) {
  link("paths", files.paths)("labels", files.labels)("label_mode", files.label_mode)(
      "classes", static_cast<int64_t>(files.classes));
  link.hint("num_parallel_calls", files.calls);
}

void read_files(LinkReader& link, LabeledFiles& files) {
  constexpr int64_t kMaxClasses = 1 << 20;
  const ElementSpec& numbers = link.input()->spec();
  check<InvalidArgument>(numbers == spec_of(Tensor::scalar(int64_t{0})),
                         "expected numbers of files, int64 scalars, got {}.", numbers);
  files.paths = link.get<std::vector<std::string>>("paths");
  files.labels = link.get<std::vector<int64_t>>("labels");
  size_t mode = 0;
  link.choice("label_mode", mode, {"", "int", "binary", "categorical"});
  files.label_mode = link.get<std::string>("label_mode");
  const auto classes = link.get<int64_t>("classes");
  check<InvalidArgument>(classes >= 0 && classes <= kMaxClasses,
                         "expected up to {} classes, got {}.", kMaxClasses, classes);
  files.classes = static_cast<size_t>(classes);
  files.calls = read_calls(link);
  check<InvalidArgument>(
      !files.paths.empty() && (mode == 0 || files.labels.size() == files.paths.size()),
      "expected files, and a label for each, got {} and {}.", files.paths.size(),
      files.labels.size());
  for (const int64_t label : files.labels) {
    check<InvalidArgument>(mode == 0 || (0 <= label && label < classes),
                           "expected labels in [0, {}), got {}.", classes, label);
  }
}

LoadedFiles::LoadedFiles(NodePtr numbers, const LabeledFiles& files, const TensorType& content)
    : Node({std::move(numbers)}), spec_(files.spec_of_contents(content)) {}

NodePtr LoadedFiles::worker_part(const WorkerPart& part) const {
  if (part.by == WorkerPart::By::Hint) return nullptr;
  return with_inputs({make_sharded_sources(inputs().front(), part)});
}

StreamPtr<Element> LoadedFiles::elements(Pass pass) const {
  const auto loaded = [this](const Element& row, int64_t) {
    const LabeledFiles& all = labeled();
    const size_t number = all.number_in(row);
    return all.element_of(load(all.paths[number]), number);
  };
  return make_parallel_map(input().stream(pass), loaded, labeled().calls, pass);
}

NodePtr make_file_numbers(const LabeledFiles& files, const std::string& name) {
  return std::make_shared<FileNumbers>(std::ssize(files.paths), checksum_of(files), name);
}

NodePtr read_file_numbers(LinkReader& link) {
  const auto count = link.get<int64_t>("count");
  const auto checksum = link.get<int64_t>("checksum");
  check<InvalidArgument>(count >= 1 && static_cast<size_t>(count) <= link.bytes(),
                         "expected as many files as there are paths, got {}.", count);
  check<InvalidArgument>(checksum >= 0 && checksum <= UINT32_MAX, "expected a checksum, got {}.",
                         checksum);
  return std::make_shared<FileNumbers>(count, static_cast<uint32_t>(checksum),
                                       link.get<std::string>("name"));
}

}  // namespace cornu::data

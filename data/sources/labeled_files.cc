// SPDX-License-Identifier: Apache-2.0
#include "data/sources/labeled_files.h"

#include <span>

#include "framework/io/crc.h"

namespace cornu::data {
namespace {

// Rows are numbers of files, which is all that is shuffled.
class FileNumbers : public Node {
 public:
  FileNumbers(const LabeledFiles& files, std::string name)
      : count_(std::ssize(files.paths)), name_(std::move(name)) {
    Tensor numbers = Tensor::empty({count_}, DType::Int64);
    const auto values = numbers.mutable_data<int64_t>();
    for (int64_t i = 0; i < count_; ++i) values[static_cast<size_t>(i)] = i;
    table_ = numbers;
    spec_ = spec_of(Tensor::scalar(int64_t{0}));
    // Wherever the folder lies.
    for (const std::string& path : files.paths) {
      const auto relative =
          std::filesystem::path(path).lexically_relative(files.directory).string();
      checksum_ =
          crc32c(std::as_bytes(std::span(relative.c_str(), relative.size() + 1)), checksum_);
    }
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override { return count_; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("{}({}, names {:08x})", name_, count_, checksum_);
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
  uint32_t checksum_ = 0;
};

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

NodePtr make_file_numbers(const LabeledFiles& files, const std::string& name) {
  return std::make_shared<FileNumbers>(files, name);
}

}  // namespace cornu::data

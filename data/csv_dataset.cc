// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/csv.h"
#include "data/readers/csv_columns.h"
#include "data/serialization/links.h"
#include "data/sources/file_records.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, CsvOptions& options) {
  fields("compression_type", options.compression_type);
  fields.hint("buffer_size", options.buffer_size);
  fields("header", options.header);
  fields("field_delim", options.field_delim);
  fields("use_quote_delim", options.use_quote_delim);
  fields("na_value", options.na_value);
  fields("select_cols", options.select_cols);
  fields("exclude_cols", options.exclude_cols);
}

namespace {

constexpr const char* kCsvDataset = "CsvDataset";

// Parses the records of a CsvDataset.
struct CsvTuples {
  CsvLayout layout;
  std::shared_ptr<const Structure> structure;
};

class CsvTupleStream : public Stream<Element> {
 public:
  CsvTupleStream(std::shared_ptr<const CsvTuples> tuples, const std::string& path,
                 const CsvOptions& options)
      : tuples_(std::move(tuples)),
        reader_(path, compression_of(options.compression_type, kCsvDataset), tuples_->layout.format,
                options.buffer_size) {
    std::string_view header;
    check<InvalidArgument>(!options.header || reader_.next(header),
                           "{}: {} is empty: expected a header. Omit the file, or set header = "
                           "false where there is none.",
                           kCsvDataset, reader_.path());
  }

  bool next(Element& element) override {
    std::string_view record;
    if (!reader_.next(record)) return false;
    CsvColumns columns(tuples_->layout, {});
    columns.add(record, [this] {
      return fmt::format("{}: {}, line {}", kCsvDataset, reader_.path(), reader_.line());
    });
    element = Element(columns.finish(), tuples_->structure);
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    std::string_view record;
    for (; count > 0 && reader_.next(record); --count) ++left_out;
  }

 private:
  std::shared_ptr<const CsvTuples> tuples_;
  CsvReader reader_;
};

void check_columns(const std::vector<int64_t>& columns, const char* what) {
  const bool ascending =
      std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) == columns.end();
  check<InvalidArgument>(ascending && (columns.empty() || columns.front() >= 0),
                         "{}: expected {} to be ascending numbers of columns.", kCsvDataset, what);
}

// The indices of the selected fields.
std::vector<size_t> fields_taken(size_t count, const CsvOptions& options) {
  check<InvalidArgument>(!options.select_cols || !options.exclude_cols,
                         "{}: expected at most one of select_cols and exclude_cols.", kCsvDataset);
  if (options.select_cols) {
    check_columns(*options.select_cols, "select_cols");
    check<InvalidArgument>(options.select_cols->size() == count,
                           "{}: expected one of record_defaults for each of select_cols, got {} "
                           "for {}.",
                           kCsvDataset, count, options.select_cols->size());
    return {options.select_cols->begin(), options.select_cols->end()};
  }
  const std::vector<int64_t> without = options.exclude_cols.value_or(std::vector<int64_t>());
  check_columns(without, "exclude_cols");
  std::vector<size_t> fields;
  for (int64_t field = 0; fields.size() < count; ++field) {
    if (!std::binary_search(without.begin(), without.end(), field)) {
      fields.push_back(static_cast<size_t>(field));
    }
  }
  return fields;
}

}  // namespace

Dataset CsvDataset(const FileNames& filenames, const std::vector<CsvDefault>& record_defaults,
                   const CsvOptions& options) {
  check<InvalidArgument>(!record_defaults.empty(), "{}: expected record_defaults, got none.",
                         kCsvDataset);
  compression_of(options.compression_type, kCsvDataset);
  auto tuples = std::make_shared<CsvTuples>();
  CsvLayout& layout = tuples->layout;
  layout.format = csv_format(kCsvDataset, options.field_delim, options.use_quote_delim);
  layout.na_value = options.na_value;
  const auto fields = fields_taken(record_defaults.size(), options);
  ElementSpec spec;
  for (size_t i = 0; i < fields.size(); ++i) {
    layout.columns.push_back({fmt::format("column {}", fields[i]), fields[i], record_defaults[i]});
    spec.types.push_back({record_defaults[i].dtype(), Shape{}});
  }
  if (!options.select_cols && !options.exclude_cols) layout.fields = fields.size();
  if (options.exclude_cols) {
    layout.fields = fields.size() + options.exclude_cols->size();
  }
  check_layout(layout, kCsvDataset);
  tuples->structure = std::make_shared<const Structure>(
      Structure::of_components(std::vector<Structure>(fields.size())));
  spec.structure = tuples->structure;
  const auto open = [tuples, options](const std::string& path) {
    return std::make_unique<CsvTupleStream>(tuples, path, options);
  };
  const std::string text = fmt::format("csv({})", spec.to_string());
  const auto write = [=](LinkWriter& link) {
    link.kind("csv").options(options);
    write_columns(link, record_defaults);
  };
  return Dataset(
      make_file_records(filenames.dataset().node(), {kCsvDataset, text, spec, open, write}, {}));
}

NodePtr read_csv(LinkReader& link) {
  const auto options = link.options<CsvOptions>();
  return CsvDataset(Dataset(link.input()), read_columns(link), options).node();
}

}  // namespace cornu::data

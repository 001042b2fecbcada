// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <set>

#include "data/csv.h"
#include "data/readers/csv_columns.h"
#include "data/readers/csv_inference.h"
#include "data/serialization/links.h"
#include "data/sources/file_records.h"
#include "data/sources/sources.h"
#include "data/transforms/parallel_map.h"
#include "data/transforms/transforms.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

constexpr const char* kMakeCsv = "make_csv_dataset";

// The files, and what to read from them.
struct CsvTable {
  std::vector<std::string> paths;
  std::vector<std::string> names;  // of all columns
  CsvLayout layout;                // of the selected columns
  Compression compression = Compression::None;
  bool header = true;
  bool named_by_header = false;  // the header must be the same in all files, or values would get
                                 // into the wrong columns
};

CsvReader reader_of(const CsvTable& table, const std::string& path) {
  return CsvReader(path, table.compression, table.layout.format);
}

// Skips the header, checking it if necessary. An empty file isn't checked, as it yields no values.
void pass_header(const CsvTable& table, CsvReader& reader) {
  std::string_view header;
  if (!table.header || !reader.next(header) || !table.named_by_header) return;
  const auto names = csv_names(header, table.layout.format, reader.path(), kMakeCsv);
  check<InvalidArgument>(names == table.names,
                         "{}: {}: expected the columns that the first file has, {}; got {}. Give "
                         "column_names where the files mean the same columns by other names, or "
                         "read files of other columns by themselves.",
                         kMakeCsv, reader.path(), join(table.names, ", "), join(names, ", "));
}

// A record that passes through a shuffle: its origin (the index of the file and the line number, 8
// bytes each), followed by its text.
struct PlacedRecord {
  uint64_t file;
  uint64_t line;
};
constexpr size_t kPlaceBytes = sizeof(PlacedRecord);

std::string place_of(const CsvTable& table, std::string_view record) {
  PlacedRecord place;
  std::memcpy(&place, record.data(), kPlaceBytes);
  if (place.file >= table.paths.size()) return fmt::format("{}: line {}", kMakeCsv, place.line);
  return fmt::format("{}: {}, line {}", kMakeCsv, table.paths[place.file], place.line);
}

void parse_placed(const CsvTable& table, std::string_view record, CsvColumns& columns) {
  check<InvalidArgument>(record.size() >= kPlaceBytes, "{}: expected a record with its place.",
                         kMakeCsv);
  columns.add(record.substr(kPlaceBytes), [&] { return place_of(table, record); });
}

class PlacedRecords : public TextStream {
 public:
  // `checked`: whether to skip records that can't be parsed.
  PlacedRecords(std::shared_ptr<const CsvTable> table, const std::string& path, bool checked)
      : table_(std::move(table)), reader_(reader_of(*table_, path)), checked_(checked) {
    const auto at = std::find(table_->paths.begin(), table_->paths.end(), path);
    place_.file = static_cast<uint64_t>(at - table_->paths.begin());
    pass_header(*table_, reader_);
  }

  bool next_text(std::string& text) override {
    std::string_view record;
    while (reader_.next(record)) {
      place_.line = static_cast<uint64_t>(reader_.line());
      text.resize(kPlaceBytes);
      std::memcpy(text.data(), &place_, kPlaceBytes);
      text += record;
      if (!checked_ || is_good(text)) return true;
    }
    return false;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    if (checked_) return Stream::leave_out(count, left_out);
    std::string_view record;
    for (; count > 0 && reader_.next(record); --count) ++left_out;
  }

 private:
  bool is_good(const std::string& text) const {
    CsvColumns columns(table_->layout, {});
    try {
      parse_placed(*table_, text, columns);
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }

  std::shared_ptr<const CsvTable> table_;
  CsvReader reader_;
  bool checked_;
  PlacedRecord place_{};
};

void write_table(LinkWriter& link, const CsvTable& table) {
  std::vector<int64_t> taken;
  std::vector<CsvDefault> types;
  for (const CsvLayout::Column& column : table.layout.columns) {
    taken.push_back(static_cast<int64_t>(column.field));
    types.push_back(column.type);
  }
  link("paths", table.paths)("column_names", table.names)("select_columns", taken);
  write_columns(link, types);
  link("field_delim", std::string(1, table.layout.format.delimiter))(
      "use_quote_delim", table.layout.format.quotes)("na_value", table.layout.na_value)(
      "all_columns", table.layout.fields > 0)("header", table.header)("named_by_header",
                                                                      table.named_by_header);
  link.choice("compression_type", table.compression, {"", "GZIP", "ZLIB"});
}

void add_columns(CsvTable& table, const std::vector<size_t>& fields,
                 const std::vector<CsvDefault>& types, bool all) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string name = fmt::format("column '{}'", table.names[fields[i]]);
    table.layout.columns.push_back({name, fields[i], types[i]});
  }
  if (all) table.layout.fields = table.names.size();
  check_layout(table.layout, kMakeCsv);
}

std::shared_ptr<const CsvTable> read_table(LinkReader& link) {
  auto table = std::make_shared<CsvTable>();
  table->paths = link.get<std::vector<std::string>>("paths");
  table->names = link.get<std::vector<std::string>>("column_names");
  table->layout.format =
      csv_format(kMakeCsv, link.get<std::string>("field_delim"), link.get<bool>("use_quote_delim"));
  table->layout.na_value = link.get<std::string>("na_value");
  table->header = link.get<bool>("header");
  table->named_by_header = link.get<bool>("named_by_header");
  link.choice("compression_type", table->compression, {"", "GZIP", "ZLIB"});
  const auto types = read_columns(link);
  const auto numbers = link.get<std::vector<int64_t>>("select_columns");
  const bool ascending =
      std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end();
  check<InvalidArgument>(!numbers.empty() && ascending && numbers.front() >= 0 &&
                             numbers.back() < std::ssize(table->names) &&
                             numbers.size() == types.size(),
                         "{}: expected ascending numbers of {} columns, and the type of each.",
                         kMakeCsv, table->names.size());
  add_columns(*table, {numbers.begin(), numbers.end()}, types, link.get<bool>("all_columns"));
  return table;
}

NodePtr make_records(NodePtr names, std::shared_ptr<const CsvTable> table, bool checked,
                     const std::optional<int64_t>& reads) {
  const auto open = [table, checked](const std::string& path) {
    return std::make_unique<PlacedRecords>(table, path, checked);
  };
  const auto write = [=](LinkWriter& link) {
    link.kind("csv_records")("ignore_errors", checked)("num_parallel_reads", reads);
    write_table(link, *table);
  };
  return make_file_records(std::move(names), {kMakeCsv, "csv_records", text_spec(), open, write},
                           reads);
}

// Batches of placed records, parsed into columns.
class CsvBatches : public Node {
 public:
  CsvBatches(NodePtr records, std::shared_ptr<const CsvTable> table,
             const std::optional<std::string>& label, int64_t calls)
      : Node({std::move(records)}), table_(std::move(table)), calls_(calls) {
    std::vector<std::pair<std::string, Structure>> members;
    const Shape shape = input().spec().types.front().shape;
    for (size_t i = 0; i < table_->layout.columns.size(); ++i) {
      const CsvLayout::Column& column = table_->layout.columns[i];
      const std::string& name = table_->names[column.field];
      if (name == label) {
        label_ = i;
      } else {
        members.emplace_back(name, Structure());
        spec_.types.push_back({column.type.dtype(), shape});
      }
    }
    Structure structure = Structure::dict(std::move(members));
    if (label_) {
      spec_.types.push_back({table_->layout.columns[*label_].type.dtype(), shape});
      structure = Structure::tuple({std::move(structure), Structure()});
    }
    spec_.structure = std::make_shared<const Structure>(std::move(structure));
  }

  const ElementSpec& spec() const override { return spec_; }
  bool works_on_parts() const override { return true; }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return fmt::format("csv(to {})", spec_.to_string()); }
  void write(LinkWriter& link) const override {
    std::optional<std::string> label;
    if (label_) label = table_->names[table_->layout.columns[*label_].field];
    link.kind("csv_batches")("label_name", label).hint("num_parallel_calls", calls_);
    write_table(link, *table_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const auto parse = [this](const Element& batch, int64_t) { return parsed(batch.tensor(0)); };
    return make_parallel_map(input().stream(pass), parse, calls_, pass);
  }

 private:
  Element parsed(const Tensor& records) const {
    CsvColumns columns(table_->layout, records.shape());
    for (const std::string& record : records.data<std::string>()) {
      parse_placed(*table_, record, columns);
    }
    std::vector<Tensor> tensors = columns.finish();
    if (label_) {
      const auto label = tensors.begin() + static_cast<std::ptrdiff_t>(*label_);
      std::rotate(label, label + 1, tensors.end());
    }
    return Element(std::move(tensors), spec_.structure);
  }

  std::shared_ptr<const CsvTable> table_;
  int64_t calls_;
  std::optional<size_t> label_;  // its index among the columns
  ElementSpec spec_;
};

size_t number_of(const std::string& name, const std::vector<std::string>& names, const char* what) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) {
    raise<InvalidArgument>("{}: unknown {} '{}'.{}", kMakeCsv, what, name,
                           did_you_mean(name, names));
  }
  return static_cast<size_t>(at - names.begin());
}

// The indices of the selected fields, in ascending order.
std::vector<size_t> fields_selected(const std::vector<std::string>& names,
                                    const std::vector<CsvColumn>& select) {
  std::set<size_t> fields;
  for (const CsvColumn& column : select) {
    if (const auto* name = std::get_if<std::string>(&column)) {
      fields.insert(number_of(*name, names, "column in select_columns"));
      continue;
    }
    const int64_t number = std::get<int64_t>(column);
    check<InvalidArgument>(number >= 0 && number < std::ssize(names),
                           "{}: expected numbers of 0 to {} in select_columns, got {}.", kMakeCsv,
                           names.size() - 1, number);
    fields.insert(static_cast<size_t>(number));
  }
  for (size_t i = 0; select.empty() && i < names.size(); ++i) fields.insert(i);
  return {fields.begin(), fields.end()};
}

void find_names(CsvTable& table, const MakeCsvOptions& options) {
  table.names = options.column_names;
  if (table.names.empty()) {
    check<InvalidArgument>(options.header,
                           "{}: expected column_names, where the files have no header.", kMakeCsv);
    CsvReader reader = reader_of(table, table.paths.front());
    table.names = csv_header(reader, table.layout.format, kMakeCsv);
    table.named_by_header = true;
  }
  const std::set<std::string> different(table.names.begin(), table.names.end());
  check<InvalidArgument>(different.size() == table.names.size(),
                         "{}: expected different names of columns, got {}.", kMakeCsv,
                         join(table.names, ", "));
}

std::vector<CsvDefault> inferred_types(const CsvTable& table, const std::vector<size_t>& fields,
                                       const MakeCsvOptions& options) {
  std::vector<CsvTypeGuess> guesses(table.names.size(), CsvTypeGuess(options.na_value));
  int64_t rows = 0;
  const auto enough = [&] {
    return options.num_rows_for_inference > 0 && rows == options.num_rows_for_inference;
  };
  for (const std::string& path : table.paths) {
    CsvReader reader = reader_of(table, path);
    pass_header(table, reader);
    std::string_view record;
    for (; !enough() && reader.next(record); ++rows) {
      CsvFields parts(record, table.layout.format);
      std::string_view field;
      for (size_t i = 0; i < guesses.size() && parts.next(field); ++i) guesses[i].see(field);
    }
    if (enough()) break;
  }
  std::vector<CsvDefault> types;
  for (const size_t field : fields) types.push_back(guesses[field].type());
  return types;
}

// column_defaults are for all columns, or for the selected ones.
std::vector<CsvDefault> types_of(const CsvTable& table, const std::vector<size_t>& fields,
                                 const MakeCsvOptions& options) {
  const std::vector<CsvDefault>& given = options.column_defaults;
  if (given.empty()) return inferred_types(table, fields, options);
  if (given.size() == fields.size()) return given;
  check<InvalidArgument>(given.size() == table.names.size(),
                         "{}: expected one of column_defaults for each of {} columns, got {}.",
                         kMakeCsv, fields.size(), given.size());
  std::vector<CsvDefault> types;
  for (const size_t field : fields) types.push_back(given[field]);
  return types;
}

std::shared_ptr<const CsvTable> csv_table(const std::vector<std::string>& patterns,
                                          const MakeCsvOptions& options) {
  check<InvalidArgument>(options.num_rows_for_inference >= 0,
                         "{}: expected num_rows_for_inference of at least 0, got {}.", kMakeCsv,
                         options.num_rows_for_inference);
  auto table = std::make_shared<CsvTable>();
  CsvLayout& layout = table->layout;
  layout.format = csv_format(kMakeCsv, options.field_delim, options.use_quote_delim);
  layout.na_value = options.na_value;
  table->compression = compression_of(options.compression_type, kMakeCsv);
  table->header = options.header;
  table->paths = matching_files(patterns, kMakeCsv);
  find_names(*table, options);
  const auto fields = fields_selected(table->names, options.select_columns);
  const auto types = types_of(*table, fields, options);
  add_columns(*table, fields, types, options.select_columns.empty());
  if (options.label_name) {
    std::vector<std::string> taken;
    for (const size_t field : fields) taken.push_back(table->names[field]);
    number_of(*options.label_name, taken, "label_name");
    check<InvalidArgument>(fields.size() > 1, "{}: there is no column besides the label.",
                           kMakeCsv);
  }
  return table;
}

}  // namespace

Dataset make_csv_dataset(const std::vector<std::string>& file_pattern, int64_t batch_size,
                         const MakeCsvOptions& options) {
  const int64_t calls = resolve_parallel_calls(options.num_parallel_calls, kMakeCsv);
  const auto table = csv_table(file_pattern, options);
  NodePtr node = make_records(make_tensor_slices(Tensor::from(table->paths)), table,
                              options.ignore_errors, options.num_parallel_reads);
  if (options.shuffle) {
    node =
        make_shuffle(std::move(node), options.shuffle_buffer_size, {.seed = options.shuffle_seed});
  }
  if (options.num_epochs != 1) node = make_repeat(std::move(node), options.num_epochs.value_or(-1));
  node = make_batch(std::move(node), batch_size, {.drop_remainder = !options.num_epochs});
  node = std::make_shared<CsvBatches>(std::move(node), table, options.label_name, calls);
  return Dataset(make_prefetch(std::move(node), options.prefetch_buffer_size));
}

NodePtr read_csv_records(LinkReader& link) {
  return make_records(link.input(), read_table(link), link.get<bool>("ignore_errors"),
                      link.get<std::optional<int64_t>>("num_parallel_reads"));
}

NodePtr read_csv_batches(LinkReader& link) {
  const ElementSpec& records = link.input()->spec();
  check<InvalidArgument>(records.types.size() == 1 && records.types[0].dtype == DType::String,
                         "{}: expected records, got {}.", kMakeCsv, records);
  auto table = read_table(link);
  const auto label = link.get<std::optional<std::string>>("label_name");
  if (label) number_of(*label, table->names, "label_name");
  check<InvalidArgument>(!label || table->layout.columns.size() > 1,
                         "{}: there is no column besides the label.", kMakeCsv);
  return std::make_shared<CsvBatches>(link.input(), std::move(table), label, read_calls(link));
}

}  // namespace cornu::data

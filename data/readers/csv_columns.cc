// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv_columns.h"

#include <locale.h>

#include <charconv>
#include <cstdlib>

#include "data/serialization/link.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

std::string_view number_in(std::string_view field) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  field.remove_prefix(std::min(field.find_first_not_of(kSpaces), field.size()));
  field = field.substr(0, field.find_last_not_of(kSpaces) + 1);
  if (field.size() > 1 && field[0] == '+' && field[1] != '-' && field[1] != '+') {
    field.remove_prefix(1);
  }
  return field;
}

// strtod with the C locale's decimal point, regardless of the program's locale.
double to_double(const char* text, char** after) {
  static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text, after, c);
}

template <class T>
bool parse_number(std::string_view field, T& value) {
  const std::string_view number = number_in(field);
  const char* end = number.data() + number.size();
  const auto [stopped, error] = std::from_chars(number.data(), end, value);
  if constexpr (std::is_floating_point_v<T>) {  // 0x1p3: rare
    if (stopped != end && number.find_first_of("xX") != std::string_view::npos) {
      const std::string text(number);
      char* after = nullptr;
      value = static_cast<T>(to_double(text.c_str(), &after));
      return after == text.c_str() + text.size();
    }
  }
  if (stopped != end || number.empty()) return false;
  if (error == std::errc()) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (error != std::errc::result_out_of_range) return false;
    value = static_cast<T>(to_double(std::string(number).c_str(), nullptr));  // 0 or infinity
    return true;
  }
  return false;
}

}  // namespace

bool parse_field(std::string_view field, int32_t& value) { return parse_number(field, value); }
bool parse_field(std::string_view field, int64_t& value) { return parse_number(field, value); }
bool parse_field(std::string_view field, float& value) { return parse_number(field, value); }
bool parse_field(std::string_view field, double& value) { return parse_number(field, value); }

CsvDefault::CsvDefault(const Tensor& value) {
  check<InvalidArgument>(value.defined() && !value.is_symbolic() && value.num_elements() == 1,
                         "CSV: expected a default of one element, got {}.", value.to_string());
  value_ = value.host().strong().with_shape({});
  dtype_ = value_.dtype();
}

void check_layout(const CsvLayout& layout, const char* who) {
  for (const CsvLayout::Column& column : layout.columns) {
    const DType dtype = column.type.dtype();
    check<InvalidArgument>(dtype == DType::Int32 || dtype == DType::Int64 ||
                               dtype == DType::Float32 || dtype == DType::Float64 ||
                               dtype == DType::String,
                           "{}: {}: expected int32, int64, float32, float64 or string, got {}.",
                           who, column.name, to_string(dtype));
  }
}

class CsvColumns::Column {
 public:
  virtual ~Column() = default;
  // Returns false when the field doesn't have the column's type.
  virtual bool set(size_t row, std::string_view field) = 0;
  virtual bool set_default(size_t row) = 0;  // false when there is none
  virtual Tensor finish() = 0;
};

template <class T>
class CsvColumns::ColumnOf : public Column {
 public:
  ColumnOf(const CsvDefault& type, const Shape& shape)
      : tensor_(Tensor::empty(shape, type.dtype())),
        places_(tensor_.mutable_data<T>().data()),
        required_(!type.value().defined()),
        default_(required_ ? T() : type.value().item<T>()) {}

  bool set(size_t row, std::string_view field) override {
    if constexpr (std::is_same_v<T, std::string>) {
      places_[row].assign(field);
      return true;
    } else {
      return parse_field(field, places_[row]);
    }
  }
  bool set_default(size_t row) override {
    places_[row] = default_;
    return !required_;
  }
  Tensor finish() override { return std::move(tensor_); }

 private:
  Tensor tensor_;
  T* places_;
  bool required_;
  T default_;
};

CsvColumns::CsvColumns(const CsvLayout& layout, const Shape& shape) : layout_(layout) {
  for (const CsvLayout::Column& column : layout.columns) {
    const CsvDefault& type = column.type;
    switch (type.dtype()) {
      case DType::Int32:
        columns_.push_back(std::make_unique<ColumnOf<int32_t>>(type, shape));
        break;
      case DType::Int64:
        columns_.push_back(std::make_unique<ColumnOf<int64_t>>(type, shape));
        break;
      case DType::Float32:
        columns_.push_back(std::make_unique<ColumnOf<float>>(type, shape));
        break;
      case DType::Float64:
        columns_.push_back(std::make_unique<ColumnOf<double>>(type, shape));
        break;
      default:
        columns_.push_back(std::make_unique<ColumnOf<std::string>>(type, shape));
    }
  }
}

CsvColumns::~CsvColumns() = default;

void CsvColumns::add(std::string_view record, const std::function<std::string()>& place) {
  CsvFields fields(record, layout_.format);
  std::string_view field;
  size_t number = 0;
  size_t taken = 0;
  for (; fields.next(field); ++number) {
    if (taken == columns_.size()) {
      if (layout_.fields == 0) break;
      if (number >= layout_.fields) {
        raise<InvalidArgument>("{}: expected {} fields, got more: \"{}\".", place(), layout_.fields,
                               printable(record));
      }
      continue;
    }
    const CsvLayout::Column& about = layout_.columns[taken];
    if (about.field != number) continue;
    Column& column = *columns_[taken++];
    if (field.empty() || field == layout_.na_value) {
      if (column.set_default(row_)) continue;
      raise<InvalidArgument>("{}: {}: the field is empty, and there is no default for it.", place(),
                             about.name);
    }
    if (column.set(row_, field)) continue;
    raise<InvalidArgument>("{}: {}: expected a number ({}), got \"{}\".", place(), about.name,
                           to_string(about.type.dtype()), printable(field));
  }
  if (fields.error()) {
    raise<InvalidArgument>("{}: {}: \"{}\".", place(), fields.error(), printable(record));
  }
  if (taken < columns_.size() || number < layout_.fields) {
    raise<InvalidArgument>("{}: expected {} fields, got {}: {} is missing.", place(),
                           layout_.fields == 0 ? layout_.columns.back().field + 1 : layout_.fields,
                           number,
                           taken < columns_.size() ? layout_.columns[taken].name : "the last");
  }
  ++row_;
}

std::vector<Tensor> CsvColumns::finish() {
  std::vector<Tensor> tensors;
  for (const auto& column : columns_) tensors.push_back(column->finish());
  return tensors;
}

void write_columns(LinkWriter& link, const std::vector<CsvDefault>& columns) {
  std::vector<DType> dtypes;
  std::vector<Tensor> values;  // undefined: required
  for (const CsvDefault& column : columns) {
    dtypes.push_back(column.dtype());
    values.push_back(column.value());
  }
  link("column_dtypes", dtypes)("column_defaults", values);
}

std::vector<CsvDefault> read_columns(LinkReader& link) {
  const auto dtypes = link.get<std::vector<DType>>("column_dtypes");
  const auto values = link.get<std::vector<Tensor>>("column_defaults");
  check<InvalidArgument>(dtypes.size() == values.size(),
                         "expected as many column_defaults as column_dtypes, got {} and {}.",
                         values.size(), dtypes.size());
  std::vector<CsvDefault> columns;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    columns.push_back(values[i].defined() ? CsvDefault(values[i]) : CsvDefault(dtypes[i]));
  }
  return columns;
}

}  // namespace cornu::data

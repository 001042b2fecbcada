// SPDX-License-Identifier: Apache-2.0
// Tables in CSV files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/csv.h"
#include "data/serialization.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::CsvDataset;
using data::CsvDefault;
using data::Dataset;
using data::make_csv_dataset;
using Defaults = std::vector<CsvDefault>;

namespace {

// All values of a pass, as "1 a|2 b".
std::string rows(const Dataset& dataset) {
  std::string text;
  for (const auto& element : dataset) {
    if (!text.empty()) text += '|';
    for (const Tensor& tensor : element.tensors()) {
      if (&tensor != &element.tensors().front()) text += ' ';
      if (tensor.dtype() == DType::String) {
        text += tensor.item<std::string>();
      } else {
        text += fmt::format("{}", tensor.item<double>());
      }
    }
  }
  return text;
}

class CsvFile {
 public:
  explicit CsvFile(const std::string& bytes) { write_text(path(), bytes); }
  std::filesystem::path path() const { return folder_ / "t.csv"; }
  std::string rows(const Defaults& defaults, const data::CsvOptions& options = {}) const {
    const std::string all = ::rows(CsvDataset(path(), defaults, options));
    auto small = options;
    small.buffer_size = 1;
    CHECK(::rows(CsvDataset(path(), defaults, small)) == all);
    return all;
  }
  std::string error(const Defaults& defaults, const data::CsvOptions& options = {}) const {
    const std::string text =
        message_of<InvalidArgument>([&] { ::rows(CsvDataset(path(), defaults, options)); });
    const std::string begin = "CsvDataset: " + path().string() + ", ";
    CHECK(text.starts_with(begin));
    return text.substr(std::min(begin.size(), text.size()));
  }

 private:
  TempFolder folder_;
};

std::string parsed(const std::string& bytes, const Defaults& defaults,
                   const data::CsvOptions& options = {}) {
  return CsvFile(bytes).rows(defaults, options);
}
std::string error(const std::string& bytes, const Defaults& defaults,
                  const data::CsvOptions& options = {}) {
  return CsvFile(bytes).error(defaults, options);
}

constexpr DType kInt = DType::Int32;
constexpr DType kText = DType::String;

}  // namespace

TEST_CASE("CsvDataset gives the fields of records") {
  CHECK(parsed("1,a\r\n2,b\r3,c\n", {kInt, kText}) == "1 a|2 b|3 c");
  CHECK(parsed("1,a\n2,b", {kInt, kText}) == "1 a|2 b");
  CHECK(parsed("1\n\n2\n", {7}) == "1|7|2");
  CHECK(parsed("", {kInt}) == "");
  CHECK(parsed("h,x\n1,a\n2,b\n", {kInt, kText}, {.header = true}) == "1 a|2 b");
  CHECK(parsed("1,a \"\"\n", {kInt, kText}, {.use_quote_delim = false}) == "1 a \"\"");
  CHECK(parsed("1,\"a \"\"q\"\" b\"\n2,\"x\r\ny,\"\n\"3\",\"\"\"\"\n", {kInt, kText}) ==
        "1 a \"q\" b|2 x\r\ny,|3 \"");
  CHECK(parsed("1;a,b\n", {kInt, kText}, {.field_delim = ";"}) == "1 a,b");
  CHECK(parsed("1,NA\n,x\n\"\",\"NA\"", {5, "d"}, {.na_value = "NA"}) == "1 d|5 x|5 d");
  CHECK(parsed(" 1 ,+2\n", {kInt, 9}) == "1 2");
  CHECK(parsed(" 1.5 ,+2e3\ninf,nan\n1e400,-1e400\n1e-400,-.5\n", {0.0, DType::Float64}) ==
        "1.5 2000|inf nan|inf -inf|0 -0.5");
  CHECK(parsed("+inf,-nan\n-Infinity,NaN\n1e400,-1e400\n", {0.0, DType::Float32}) ==
        "inf -nan|-inf nan|inf -inf");
  CHECK(parsed("0x1p3\n-0x10", {0.0}) == "8|-16");
  CHECK(parsed("9223372036854775807\n", {DType::Int64}) ==
        fmt::format("{}", 9223372036854775807.0));
}

TEST_CASE("a byte order mark is no part of a CSV file's first field") {
  const std::string mark = "\xef\xbb\xbf";
  CHECK(parsed(mark + "1,a\n2,b\n", {kInt, kText}) == "1 a|2 b");
  CHECK(parsed(mark + "\"a,b\",2\n", {kText, kInt}) == "a,b 2");
  CHECK(parsed(mark, {kText}) == "");
  CHECK(parsed("a\n" + mark + "b\n", {kText}) == "a|" + mark + "b");  // elsewhere, it is text
  CHECK(parsed(mark + mark + "a\n", {kText}) == mark + "a");
  CHECK(parsed(mark.substr(0, 2), {kText}) == mark.substr(0, 2));
  CHECK(error(mark + "1\nx\n", {kInt}) ==
        "line 2: column 0: expected a number (int32), got \"x\".");

  const TempFolder folder;
  for (const std::string name : {"id", "\"id\""}) {
    CAPTURE(name);
    write_text(folder / "a.csv", mark + name + ",y\n1,2\n");
    write_text(folder / "b.csv", mark + name + ",y\n3,4\n");
    const auto dataset = make_csv_dataset(
        (folder / "*.csv").string(), 2,
        {.label_name = "y", .select_columns = {"id", "y"}, .num_epochs = 1, .shuffle = false});
    CHECK(dataset.element_spec().to_string() == "({id: int32 (None,)}, int32 (None,))");
    CHECK(numbers(dataset) == std::vector<int64_t>{1, 3, 2, 4});
  }
  write_text(folder / "c", gzip_of(mark + "5,6\n"));
  const auto packed = make_csv_dataset(
      (folder / "c").string(), 1,
      {.column_names = {"a", "b"}, .header = false, .num_epochs = 1, .compression_type = "GZIP"});
  CHECK(numbers(packed) == std::vector<int64_t>{5, 6});
}

TEST_CASE("CsvDataset takes the columns that it is asked for") {
  const std::string bytes = "1,2,3\n4,5,6\n";
  CHECK(parsed(bytes, {kInt}, {.select_cols = {1}}) == "2|5");
  CHECK(parsed(bytes, {kInt, kText}, {.select_cols = {0, 2}}) == "1 3|4 6");
  CHECK(parsed(bytes, {kInt, kInt}, {.exclude_cols = {1}}) == "1 3|4 6");
  CHECK_THROWS_AS(parsed(bytes, {kInt, kInt}, {.select_cols = {2, 0}}), InvalidArgument);
  CHECK_THROWS_AS(parsed(bytes, {kInt}, {.select_cols = {2, 0}}), InvalidArgument);
  CHECK_THROWS_AS(parsed(bytes, {kInt}, {.select_cols = {2}, .exclude_cols = {1}}),
                  InvalidArgument);
  CHECK_THROWS_AS(parsed(bytes, {}), InvalidArgument);
  CHECK_THROWS_AS(parsed(bytes, {DType::Bool}), InvalidArgument);
  CHECK_THROWS_AS(parsed(bytes, {kInt}, {.field_delim = ",,"}), InvalidArgument);
}

TEST_CASE("what is wrong in a CSV file is told with line and column") {
  CHECK(error("1\nx\n", {kInt}) == "line 2: column 0: expected a number (int32), got \"x\".");
  CHECK(error("1.5\n", {kInt}) == "line 1: column 0: expected a number (int32), got \"1.5\".");
  CHECK(error("99999999999\n", {kInt}) ==
        "line 1: column 0: expected a number (int32), got \"99999999999\".");
  CHECK(error("1,2\n\"a\nb\",\n", {kText, kInt}) ==
        "line 2: column 1: the field is empty, and there is no default for it.");
  CHECK(error("\"a\nb\",1\nc,d\n", {kText, kInt}) ==
        "line 3: column 1: expected a number (int32), got \"d\".");
  CHECK(error("1,2,3\n", {kInt, kInt}) == "line 1: expected 2 fields, got more: \"1,2,3\".");
  CHECK(error("1\n", {kInt, kInt}) == "line 1: expected 2 fields, got 1: column 1 is missing.");
  CHECK(error("1\n", {kInt}, {.select_cols = {1}}) ==
        "line 1: expected 2 fields, got 1: column 1 is missing.");
  CHECK(error("a\"b\n", {kText}) ==
        "line 1: a field that isn't quoted has a quote in it: \"a\"b\".");
  CHECK(error("\"a\"b\n", {kText}) ==
        "line 1: a quoted field is followed by something else: \"\"a\"b\".");
  CHECK(error("\"a,b\nc", {kText}) == "line 1: a quoted field doesn't end: \"\"a,b\\x0ac\".");
  const CsvFile empty("");
  CHECK(message_of<InvalidArgument>([&] { empty.rows({kInt}, {.header = true}); }) ==
        "CsvDataset: " + empty.path().string() +
            " is empty: expected a header. Omit the file, or set header = false where there is "
            "none.");
}

TEST_CASE("records of several CSV files are left out without being parsed") {
  const TempFolder folder;
  write_text(folder / "a", "1\nno number\n3\n");
  write_text(folder / "b", "");
  write_text(folder / "c", "4\n5\n");
  const Dataset dataset = CsvDataset({folder / "a", folder / "b", folder / "c"}, {kInt});
  CHECK(rows(dataset.skip(2)) == "3|4|5");
  CHECK(rows(dataset.skip(4)) == "5");
  auto iterator = dataset.skip(2).iterator();
  data::Element element;
  REQUIRE(iterator.next(element));
  REQUIRE(iterator.next(element));
  auto restored = dataset.skip(2).iterator();
  restored.restore(iterator.save());
  REQUIRE(restored.next(element));
  CHECK(element.tensor(0).item<int>() == 5);
}

TEST_CASE("a column may have no name, like the index that pandas writes") {
  const TempFolder folder;
  write_text(folder / "a.csv", ",x\n0,5\n1,6\n");
  const auto dataset =
      make_csv_dataset((folder / "a.csv").string(), 2, {.num_epochs = 1, .shuffle = false});
  for (const auto& rows : dataset) {
    REQUIRE(rows[0].names() == std::vector<std::string>{"", "x"});
    CHECK(rows[0][""].to_vector<int32_t>() == std::vector<int32_t>{0, 1});
    CHECK(rows[0]["x"].to_vector<int32_t>() == std::vector<int32_t>{5, 6});
  }
}

TEST_CASE("make_csv_dataset gives dictionaries of columns, and infers their types") {
  const TempFolder folder;
  write_text(folder / "a.csv", "id,x,name,big,y\n1,0.5,ann,1,0\n2,,\"b,b\",3000000000,1\n");
  write_text(folder / "b.csv", "id,x,name,big,y\n3,2,,5,1\n");
  const std::string pattern = (folder / "*.csv").string();
  const auto dataset =
      make_csv_dataset(pattern, 2, {.label_name = "y", .num_epochs = 1, .shuffle = false});
  CHECK(dataset.element_spec().to_string() ==
        "({id: int32 (None,), x: float32 (None,), name: string (None,), big: int64 (None,)}, "
        "int32 (None,))");
  std::vector<data::Element> batches;
  for (const auto& batch : dataset) batches.push_back(batch);
  REQUIRE(batches.size() == 2);
  const data::Element first = batches[0].component(0);
  CHECK(first["id"].to_vector<int32_t>() == std::vector<int32_t>{1, 2});
  CHECK(first["x"].to_vector<float>() == std::vector<float>{0.5, 0});
  CHECK(first["name"].to_vector<std::string>() == std::vector<std::string>{"ann", "b,b"});
  CHECK(first["big"].to_vector<int64_t>() == std::vector<int64_t>{1, 3000000000});
  CHECK(batches[0][1].to_vector<int32_t>() == std::vector<int32_t>{0, 1});
  CHECK(batches[1].component(0)["id"].to_vector<int32_t>() == std::vector<int32_t>{3});

  const auto selected = make_csv_dataset(pattern, 3,
                                         {.column_defaults = {7.5, DType::String},
                                          .select_columns = {1, "name"},
                                          .num_epochs = 1,
                                          .shuffle = false});
  CHECK(selected.element_spec().to_string() == "{x: float32 (None,), name: string (None,)}");
  CHECK(message_of<InvalidArgument>([&] { selected.iterator().next(batches[0]); }) ==
        "make_csv_dataset: " + (folder / "b.csv").string() +
            ", line 2: column 'name': the field is empty, and there is no default for it.");
}

TEST_CASE("files whose headers differ aren't read as if they had the same columns") {
  const TempFolder folder;
  write_text(folder / "1.csv", "a,b\n1,2\n");
  write_text(folder / "2.csv", "b,a\n20,10\n");
  write_text(folder / "3.csv", "");
  write_text(folder / "4.csv", "a,b\n5,6\n");
  const std::string expected =
      "make_csv_dataset: " + (folder / "2.csv").string() +
      ": expected the columns that the first file has, a, b; got b, a. Give column_names where the "
      "files mean the same columns by other names, or read files of other columns by themselves.";
  data::MakeCsvOptions options = {.num_epochs = 1, .shuffle = false};
  const auto dataset = [&](const std::string& files) {
    return make_csv_dataset((folder / files).string(), 2, options);
  };
  const auto values = [](const Dataset& batches) {
    std::vector<std::vector<int64_t>> columns(2);
    for (const auto& batch : batches) {
      for (const int64_t a : numbers(batch["a"])) columns[0].push_back(a);
      for (const int64_t b : numbers(batch["b"])) columns[1].push_back(b);
    }
    return columns;
  };
  // The error is raised where types are inferred from the file, and otherwise when the file is
  // opened.
  CHECK(message_of<InvalidArgument>([&] { dataset("?.csv"); }) == expected);
  options.column_defaults = {0, 0};
  const Dataset given = dataset("?.csv");
  CHECK(message_of<InvalidArgument>([&] { values(given); }) == expected);
  const Dataset sent = data::deserialize(data::serialize(given));
  CHECK(message_of<InvalidArgument>([&] { values(sent); }) == expected);
  options.num_parallel_reads = 2;
  CHECK(message_of<InvalidArgument>([&] { values(dataset("?.csv")); }) == expected);
  CHECK(values(dataset("[134].csv")) == std::vector<std::vector<int64_t>>{{1, 5}, {2, 6}});
  options.column_names = {"a", "b"};
  CHECK(values(dataset("[12].csv")) == std::vector<std::vector<int64_t>>{{1, 20}, {2, 10}});
}

TEST_CASE("columns are inferred to be what tf.data infers") {
  const TempFolder folder;
  const auto inferred = [&](const std::string& field) {
    write_text(folder / "a.csv", "a,b\n" + field + ",1\n2,1\n");
    const auto dataset = make_csv_dataset((folder / "a.csv").string(), 2);
    return std::string(to_string(dataset.element_spec().types[0].dtype));
  };
  for (const char* text : {"0x10", "0x1p3", "inf", "+inf", "INF", "Infinity", "nan", "NaN", "-nan",
                           "nan(5)", "1e400", "1f"}) {
    CAPTURE(text);
    CHECK(inferred(text) == "string");
  }
  for (const char* text : {"1e5", "1.", ".5", "-inf", "99999999999999999999", "1e-50", "3.4e38"}) {
    CAPTURE(text);
    CHECK(inferred(text) == "float32");
  }
  CHECK(inferred("1e40") == "float64");
  CHECK(inferred("2147483648") == "int64");
  for (const char* text : {" 1", "+1", "-0", ""}) CHECK(inferred(text) == "int32");
}

TEST_CASE("thousands of columns are selected by name") {
  constexpr int kColumns = 6000;
  std::string names, values;
  std::vector<data::CsvColumn> selected;
  for (int i = 0; i < kColumns; ++i) {
    const std::string name = fmt::format("column_{}", i);
    names += (i > 0 ? "," : "") + name;
    values += fmt::format("{}{}", i > 0 ? "," : "", i);
    selected.insert(selected.begin(), name);
  }
  const CsvFile file(names + "\n" + values + "\n");
  const Dataset dataset =
      make_csv_dataset(file.path().string(), 1, {.select_columns = selected, .num_epochs = 1});
  for (const auto& element : dataset) {
    CHECK(element.tensors().size() == size_t{kColumns});
    CHECK(element["column_5999"].to_vector<int32_t>() == std::vector<int32_t>{5999});
  }
}

TEST_CASE("make_csv_dataset shuffles, repeats and leaves out what it is asked to") {
  const TempFolder folder;
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += std::to_string(i) + (i == 20 ? ",x\n" : ",1\n");
  write_text(folder / "a.csv", bytes);
  const auto ids = [&](const data::MakeCsvOptions& options, int64_t batches) {
    const auto dataset = make_csv_dataset((folder / "a.csv").string(), 7, options);
    std::vector<int64_t> all;
    for (const auto& batch : dataset.take(batches)) {
      for (int64_t id : numbers(batch["id"])) all.push_back(id);
    }
    return all;
  };
  const data::MakeCsvOptions options = {.column_names = {"id", "v"},
                                        .column_defaults = {0, 0},
                                        .header = false,
                                        .num_epochs = 1,
                                        .shuffle_seed = 5,
                                        .ignore_errors = true};
  const auto once = ids(options, -1);
  CHECK(once.size() == 49);
  CHECK(!std::is_sorted(once.begin(), once.end()));
  CHECK(std::set<int64_t>(once.begin(), once.end()).size() == 49);
  auto threads = options;
  threads.num_parallel_calls = 3;
  CHECK(ids(threads, -1) == once);
  auto endless = options;
  endless.num_epochs = std::nullopt;
  CHECK(ids(endless, 20).size() == 140);

  const auto dataset = make_csv_dataset((folder / "a.csv").string(), 7, options);
  auto iterator = dataset.iterator();
  data::Element batch;
  REQUIRE(iterator.next(batch));
  auto restored = make_csv_dataset((folder / "a.csv").string(), 7, options).iterator();
  restored.restore(iterator.save());
  data::Element expected;
  REQUIRE(iterator.next(expected));
  REQUIRE(restored.next(batch));
  CHECK(numbers(batch["id"]) == numbers(expected["id"]));
}

TEST_CASE("make_csv_dataset says what doesn't go together") {
  const TempFolder folder;
  write_text(folder / "a.csv", "id,x\n1,2\n");
  const auto error_of = [&](const data::MakeCsvOptions& options) {
    return message_of<InvalidArgument>(
        [&] { make_csv_dataset((folder / "a.csv").string(), 2, options); });
  };
  CHECK(error_of({.label_name = "y"}) ==
        "make_csv_dataset: unknown label_name 'y'. Did you mean 'x'? Known: id, x.");
  CHECK(error_of({.select_columns = {"ids"}}) ==
        "make_csv_dataset: unknown column in select_columns 'ids'. Did you mean 'id'? Known: id, "
        "x.");
  CHECK(error_of({.select_columns = {2}}) ==
        "make_csv_dataset: expected numbers of 0 to 1 in select_columns, got 2.");
  CHECK(error_of({.header = false}) ==
        "make_csv_dataset: expected column_names, where the files have no header.");
  CHECK(error_of({.column_names = {"a", "a"}}) ==
        "make_csv_dataset: expected different names of columns, got a, a.");
  CHECK(error_of({.column_defaults = {1}}) ==
        "make_csv_dataset: expected one of column_defaults for each of 2 columns, got 1.");
  CHECK(error_of({.label_name = "x", .select_columns = {"x"}}) ==
        "make_csv_dataset: there is no column besides the label.");
  CHECK(message_of<NotFound>([&] { make_csv_dataset((folder / "b*").string(), 2); }) ==
        "make_csv_dataset: no files match '" + (folder / "b*").string() + "'.");
}

// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/csv_logger.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "framework/callbacks/text.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/io/checked_path.h"
#include "framework/io/standard_files.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {
namespace {

std::string text_of(const std::string& filename) {
  std::ifstream file(checked_path(filename), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CsvLoggerImpl : public Callback {
 public:
  explicit CsvLoggerImpl(const CSVLoggerOptions& options) : options_(options) {
    check<InvalidArgument>(options.separator.size() == 1 && options.separator != "\"" &&
                               options.separator != "\n" && options.separator != "\r",
                           "CSVLogger: expected a separator of one character, got \"{}\".",
                           options.separator);
  }
  std::string class_name() const override { return "CSVLogger"; }
  std::string state_name() const override { return options_.filename; }

  void on_train_begin(const Logs&) override {
    columns_.clear();
    file_.close();
    writes_ = get_strategy().is_chief();
    if (!writes_) return;
    text_ = options_.append ? text_of(options_.filename) : "";
    needs_header_ = text_.empty();
    empties_ = !options_.append;
    occupy_standard_files();
    file_.open(checked_path(options_.filename), std::ios::binary | std::ios::app);
    require_good("opened");
  }

  void on_epoch_begin(int64_t, const Logs&) override { empty_once(); }

  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    if (!writes_) return;
    if (columns_.empty()) choose_columns(logs);
    std::string line = std::to_string(epoch);
    for (const std::string& column : columns_) {
      const double* value = logs.find(column);
      line += options_.separator + (value ? float_text(*value) : "NA");
    }
    write_line(line);
  }

  void on_train_end(const Logs&) override {
    empty_once();
    file_.close();
  }

  // The lines written so far: after the process was killed, the file may be missing or ahead of the
  // run.
  RunState save_state() const override {
    if (!writes_) return {};
    return {.info = Json::object({{"text", text_}, {"columns", columns_}})};
  }
  void restore_state(const RunState& saved) override {
    if (!writes_) return;
    if (!saved.info.contains("text")) return keep_text();
    columns_ = saved.info.at("columns").as_strings();
    text_ = saved.info.at("text").as_string();
    needs_header_ = text_.empty();  // otherwise the file of an earlier training has one
    empties_ = true;
    empty_once();
    file_ << text_ << std::flush;
    require_good("written");
  }

 private:
  // Empties the file when a training is known to begin: until then it may be another run's, or that
  // of a run that can't be resumed.
  void empty_once() {
    if (!std::exchange(empties_, false)) return;
    file_.close();
    file_.open(checked_path(options_.filename), std::ios::binary | std::ios::trunc);
    require_good("opened");
  }

  void keep_text() {
    text_ = text_of(options_.filename);
    needs_header_ = text_.empty();
    empties_ = false;
    logging::warn(fmt::format(
        "CSVLogger: the saved state doesn't say how many lines '{}' had: all its lines are kept.",
        options_.filename));
  }

  void choose_columns(const Logs& logs) {
    columns_ = logs.names();
    std::sort(columns_.begin(), columns_.end());
    const bool validated =
        std::any_of(columns_.begin(), columns_.end(),
                    [](const std::string& name) { return name.rfind("val_", 0) == 0; });
    // Validation may start in a later epoch.
    const size_t count = columns_.size();
    for (size_t i = 0; i < count && !validated; ++i) columns_.push_back("val_" + columns_[i]);
    if (!needs_header_) return;
    std::string header = "epoch";
    for (const std::string& column : columns_) header += options_.separator + quoted(column);
    write_line(header);
    needs_header_ = false;
  }

  // Quotes a field if necessary.
  std::string quoted(const std::string& field) const {
    if (field.find_first_of("\"\r\n" + options_.separator) == std::string::npos) return field;
    std::string result = "\"";
    for (char c : field) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  }

  void write_line(const std::string& line) {
    text_ += line + "\r\n";
    file_ << line << "\r\n" << std::flush;
    require_good("written");
  }

  void require_good(const char* what) const {
    check<FailedPrecondition>(
        file_.good(),
        "CSVLogger: the file '{}' can't be {}: {}. Check its directory, or pass another filename.",
        options_.filename, what, std::strerror(errno));
  }

  CSVLoggerOptions options_;
  std::ofstream file_;
  std::string text_;                  // the whole file
  std::vector<std::string> columns_;  // without the epoch
  bool needs_header_ = true;
  bool empties_ = false;  // the file, before anything is written
  bool writes_ = false;
};

}  // namespace

CSVLogger::CSVLogger(const CSVLoggerOptions& options)
    : CallbackHandle(std::make_shared<CsvLoggerImpl>(options)) {}

}  // namespace cornu::callbacks

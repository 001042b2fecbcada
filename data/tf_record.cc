// SPDX-License-Identifier: Apache-2.0
#include "data/tf_record.h"

#include <exception>
#include "data/serialization/links.h"

#include "data/readers/output_file.h"
#include "data/readers/tf_record.h"
#include "data/sources/file_records.h"
#include "framework/core/logging.h"
#include "framework/io/tf_record.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, TFRecordOptions& options) {
  fields("compression_type", options.compression_type);
  fields.hint("buffer_size", options.buffer_size);
  fields("num_parallel_reads", options.num_parallel_reads);
}

namespace {

class TFRecordStream : public PlacedTextStream {
 public:
  TFRecordStream(const std::string& path, Compression compression,
                 const std::optional<int64_t>& buffer_size)
      : reader_(path, compression, buffer_size) {}

  bool next_text(std::string& text) override {
    return until_damage_([&] { return reader_.next(text); });
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    for (; count > 0 && until_damage_([&] { return reader_.skip(); }); --count) ++left_out;
  }

  Json save() const override { return until_damage_.is_damaged() ? Json() : reader_.position(); }
  void restore(const Json& state) override { reader_.go_to(state); }
  int64_t place() const override { return reader_.start(); }
  void go_to_place(int64_t place) override {
    until_damage_.begin_anew();
    reader_.seek(place);
  }

 private:
  UntilDamage until_damage_;
  TFRecordReader reader_;
};

}  // namespace

Dataset TFRecordDataset(const FileNames& filenames, const TFRecordOptions& options) {
  const Compression compression = compression_of(options.compression_type, "TFRecordDataset");
  const auto open = [compression, buffer_size = options.buffer_size](const std::string& path) {
    return std::make_unique<TFRecordStream>(path, compression, buffer_size);
  };
  const auto write = [options](LinkWriter& link) { link.kind("tf_records").options(options); };
  return Dataset(make_file_records(
      filenames.dataset().node(),
      {"TFRecordDataset", "tf_records", text_spec(), open, write, compression == Compression::None},
      options.num_parallel_reads));
}

NodePtr read_tf_records(LinkReader& link) {
  return TFRecordDataset(Dataset(link.input()), link.options<TFRecordOptions>()).node();
}

struct TFRecordWriter::State {
  OutputFile file;
  int exceptions = std::uncaught_exceptions();
};

TFRecordWriter::TFRecordWriter(const std::filesystem::path& path,
                               const TFRecordWriterOptions& options)
    : state_(new State{OutputFile(path.string(),
                                  compression_of(options.compression_type, "TFRecordWriter"),
                                  options.compression_level)}) {}

TFRecordWriter::TFRecordWriter(TFRecordWriter&&) noexcept = default;

TFRecordWriter::~TFRecordWriter() {
  // If an error ends writing halfway, an existing file is left unchanged.
  if (!state_ || std::uncaught_exceptions() > state_->exceptions) return;
  try {
    close();
  } catch (const std::exception& error) {
    logging::warn(fmt::format("TFRecordWriter: {}", error.what()));
  }
}

TFRecordWriter::State& TFRecordWriter::state() const {
  check<FailedPrecondition>(state_ != nullptr, "TFRecordWriter: used after it was moved from.");
  return *state_;
}

void TFRecordWriter::write(std::string_view record) {
  state().file.write(tf_record_header(record.size()));
  state().file.write(record);
  state().file.write(tf_record_footer(record));
}

void TFRecordWriter::flush() { state().file.flush(); }
void TFRecordWriter::close() { state().file.close(); }

}  // namespace cornu::data

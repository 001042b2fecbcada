// SPDX-License-Identifier: Apache-2.0
#include "data/text_files.h"

#include <algorithm>
#include "data/serialization/links.h"

#include "data/readers/input_file.h"
#include "data/sources/file_records.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, TextLineOptions& options) {
  fields("compression_type", options.compression_type);
  fields.hint("buffer_size", options.buffer_size);
  fields("num_parallel_reads", options.num_parallel_reads);
}

template <class Fields>
void visit_fields(Fields& fields, FixedLengthRecordOptions& options) {
  fields("header_bytes", options.header_bytes);
  fields("footer_bytes", options.footer_bytes);
  fields.hint("buffer_size", options.buffer_size);
  fields("compression_type", options.compression_type);
  fields("num_parallel_reads", options.num_parallel_reads);
}

namespace {

class LineStream : public PlacedTextStream {
 public:
  LineStream(const std::string& path, Compression compression,
             const std::optional<int64_t>& buffer_size)
      : file_(path, compression, buffer_size) {}

  bool next_text(std::string& text) override {
    text.clear();
    const bool found =
        until_damage_([&] { return read_line([&](std::string_view piece) { text += piece; }); });
    if (found && text.find('\r') != std::string::npos) std::erase(text, '\r');
    return found;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const auto pass_one = [this] { return read_line([](std::string_view) {}); };
    for (; count > 0 && until_damage_(pass_one); --count) ++left_out;
  }

  Json save() const override { return until_damage_.is_damaged() ? Json() : file_.position(0); }
  void restore(const Json& state) override { file_.go_to(state); }
  int64_t place() const override { return start_; }
  // Seeks to the end of the previous line, to verify that the line begins at `place` (unless the
  // file has changed).
  void go_to_place(int64_t place) override {
    until_damage_.begin_anew();
    file_.seek(std::max<int64_t>(place - 1, 0));
    if (place == 0) return;
    check<DataLoss>((!file_.ahead().empty() || file_.fill()) && file_.ahead().front() == '\n',
                    "{}: the saved position is at byte {}, but no line starts there. Was the file "
                    "changed? Restore it, or start over.",
                    file_.path(), place);
    file_.consume(1);
  }

 private:
  // Passes the next line to `use`, piece by piece. Returns false at the end of the file.
  template <class F>
  bool read_line(F use) {
    start_ = static_cast<int64_t>(file_.offset());
    bool any = false;
    while (!file_.ahead().empty() || file_.fill()) {
      const std::string_view ahead = file_.ahead();
      const size_t end = ahead.find('\n');
      use(ahead.substr(0, end));
      file_.consume(end == std::string_view::npos ? ahead.size() : end + 1);
      if (end != std::string_view::npos) return true;
      any = true;
    }
    return any;
  }

  InputFile file_;
  UntilDamage until_damage_;
  int64_t start_ = 0;  // offset of the current line
};

struct RecordLengths {
  size_t header;
  size_t record;
  size_t footer;
};

class FixedLengthStream : public PlacedTextStream {
 public:
  FixedLengthStream(const std::string& path, Compression compression,
                    const std::optional<int64_t>& buffer_size, const RecordLengths& lengths)
      : file_(path, compression, buffer_size), lengths_(lengths) {
    if (const auto size = file_.left()) require_whole(*size);
    const uint64_t skipped = file_.skip(lengths.header);
    if (skipped < lengths.header) require_whole(skipped);
  }

  bool next_text(std::string& text) override {
    if (!more()) return false;
    start_ = static_cast<int64_t>(file_.offset());
    text.assign(file_.ahead().substr(0, lengths_.record));
    file_.consume(lengths_.record);
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    if (const auto left = file_.left()) {
      const auto rest = static_cast<int64_t>((*left - lengths_.footer) / lengths_.record);
      const int64_t here = std::min(count, rest);
      file_.skip(static_cast<uint64_t>(here) * lengths_.record);
      left_out += here;
      return;
    }
    for (; count > 0 && more(); --count, ++left_out) file_.consume(lengths_.record);
  }
  int64_t place() const override { return start_; }
  void go_to_place(int64_t place) override {
    until_damage_.begin_anew();
    file_.seek(place);
  }

 private:
  bool more() {
    return until_damage_([this] {
      if (file_.need(lengths_.record + lengths_.footer)) return true;
      if (file_.ahead().size() != lengths_.footer) {
        require_whole(file_.offset() + file_.ahead().size());
      }
      return false;
    });
  }

  void require_whole(uint64_t size) const {
    const uint64_t around = lengths_.header + lengths_.footer;
    check<InvalidArgument>(size >= around && (size - around) % lengths_.record == 0,
                           "FixedLengthRecordDataset: {}: expected a header of {} bytes, records "
                           "of {} bytes and a footer of {} bytes, got {} bytes, which don't divide "
                           "so.",
                           file_.path(), lengths_.header, lengths_.record, lengths_.footer, size);
  }

  InputFile file_;
  UntilDamage until_damage_;
  RecordLengths lengths_;
  int64_t start_ = 0;  // offset of the current record
};

}  // namespace

Dataset TextLineDataset(const FileNames& filenames, const TextLineOptions& options) {
  const Compression compression = compression_of(options.compression_type, "TextLineDataset");
  const auto open = [compression, buffer_size = options.buffer_size](const std::string& path) {
    return std::make_unique<LineStream>(path, compression, buffer_size);
  };
  const auto write = [options](LinkWriter& link) { link.kind("text_lines").options(options); };
  return Dataset(make_file_records(
      filenames.dataset().node(),
      {"TextLineDataset", "text_lines", text_spec(), open, write, compression == Compression::None},
      options.num_parallel_reads));
}

Dataset FixedLengthRecordDataset(const FileNames& filenames, int64_t record_bytes,
                                 const FixedLengthRecordOptions& options) {
  constexpr const char* kWho = "FixedLengthRecordDataset";
  constexpr int64_t kMax = int64_t{1} << 30;
  check<InvalidArgument>(record_bytes >= 1 && record_bytes <= kMax,
                         "{}: expected record_bytes of 1 to 2^30, got {}.", kWho, record_bytes);
  check<InvalidArgument>(options.header_bytes >= 0 && options.footer_bytes >= 0 &&
                             options.header_bytes <= kMax && options.footer_bytes <= kMax,
                         "{}: expected header_bytes and footer_bytes of 0 to 2^30, got {} and {}.",
                         kWho, options.header_bytes, options.footer_bytes);
  const Compression compression = compression_of(options.compression_type, kWho);
  const RecordLengths lengths{static_cast<size_t>(options.header_bytes),
                              static_cast<size_t>(record_bytes),
                              static_cast<size_t>(options.footer_bytes)};
  const auto open = [=, buffer_size = options.buffer_size](const std::string& path) {
    return std::make_unique<FixedLengthStream>(path, compression, buffer_size, lengths);
  };
  const std::string text = fmt::format("fixed_length_records({}, {}, {})", lengths.header,
                                       lengths.record, lengths.footer);
  const auto write = [=](LinkWriter& link) {
    link.kind("fixed_length_records")("record_bytes", record_bytes).options(options);
  };
  return Dataset(
      make_file_records(filenames.dataset().node(),
                        {kWho, text, text_spec(), open, write, compression == Compression::None},
                        options.num_parallel_reads));
}

NodePtr read_text_lines(LinkReader& link) {
  return TextLineDataset(Dataset(link.input()), link.options<TextLineOptions>()).node();
}

NodePtr read_fixed_length_records(LinkReader& link) {
  const auto bytes = link.get<int64_t>("record_bytes");
  const auto options = link.options<FixedLengthRecordOptions>();
  return FixedLengthRecordDataset(Dataset(link.input()), bytes, options).node();
}

}  // namespace cornu::data

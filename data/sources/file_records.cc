// SPDX-License-Identifier: Apache-2.0
#include "data/sources/file_records.h"

#include <algorithm>

#include "data/places.h"
#include "data/sharding.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

constexpr int64_t kReadAhead = 64;  // elements prefetched from a file that is read on its own
                                    // thread
constexpr int64_t kMaxReads = 1024;

const std::shared_ptr<const Structure>& single_tensor() {
  static const auto structure = std::make_shared<const Structure>();
  return structure;
}

// Hides the state of a file that is read on a thread, so that its position is just a count, which
// costs nothing to keep.
class CountedFile : public Stream<Element> {
 public:
  explicit CountedFile(StreamPtr<Element> file) : file_(std::move(file)) {}
  bool next(Element& element) override { return file_->next(element); }
  void leave_out(int64_t count, int64_t& left_out) override { file_->leave_out(count, left_out); }

 private:
  StreamPtr<Element> file_;
};

// A node for one file, so that it can be prefetched.
class FileNode : public Node {
 public:
  FileNode(std::shared_ptr<const FileFormat> format, std::string path)
      : format_(std::move(format)), path_(std::move(path)) {}
  const ElementSpec& spec() const override { return format_->spec; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override { return "file"; }
  StreamPtr<Element> elements(Pass) const override {
    return std::make_unique<CountedFile>(format_->open(path_));
  }

 private:
  std::shared_ptr<const FileFormat> format_;
  std::string path_;
};

// A stream that owns its node.
class OwnedStream : public Stream<Element> {
 public:
  OwnedStream(NodePtr node, Pass pass) : node_(std::move(node)), stream_(node_->stream(pass)) {}
  bool next(Element& element) override { return stream_->next(element); }
  void leave_out(int64_t count, int64_t& left_out) override { stream_->leave_out(count, left_out); }

 private:
  NodePtr node_;
  StreamPtr<Element> stream_;
};

// Opens files by name.
struct FileOpener {
  std::shared_ptr<const FileFormat> format;
  Pass pass;
  bool ahead = false;  // read on a thread, ahead of the consumer

  bool has_places() const { return format->placed && !ahead; }
  StreamPtr<Element> operator()(const Element& name) const {
    const std::string path = name.tensor(0).item<std::string>();
    if (!ahead) return format->open(path);
    return std::make_unique<OwnedStream>(
        make_prefetch(std::make_shared<FileNode>(format, path), kReadAhead), pass);
  }
};

// A position consists of the position among the names and the position in the file. A place
// consists of the index of the file and the byte offset of a text.
class FilesInOrder : public Stream<Element>, public PlacedItems {
 public:
  using OpenNames = std::function<StreamPtr<Element>()>;

  FilesInOrder(OpenNames names, FileOpener open)
      : open_names_(std::move(names)), names_(open_names_(), true), open_(std::move(open)) {}

  bool next(Element& element) override {
    while (advance()) {
      if (file_->next(element)) return true;
      file_.reset();
    }
    return false;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    while (count > 0 && advance()) {
      count -= file_->leave_out(count, left_out);
      if (count > 0) file_.reset();
    }
  }

  Json save() const override {
    if (names_.taken() == 0) return {};
    Json state = Json::object();
    state.set("names", names_.position(names_.taken() - (file_ ? 1 : 0)));
    if (file_) state.set("file", file_->position());
    return state;
  }
  void restore(const Json& state) override {
    const Json& names = streams::saved_part(state, "names");
    const Json* file = state.find("file");
    std::vector<int64_t> held;
    if (file) held.push_back(streams::saved_count(names, "taken") - 1);
    names_.restore(names, held, [&](const Element& name) {
      begin(name);
      file_->restore(*file);
    });
  }

  bool has_places() const override { return open_.has_places(); }
  Place last_place() const override { return {names_.taken() - 1, placed_->place()}; }
  Element item_at(const Place& place) override {
    auto& file = again_[place.part];
    if (!file) file = reopened(place.part);
    auto& texts = dynamic_cast<PlacedTextStream&>(*file);
    texts.go_to_place(place.at);
    Element element;
    check<DataLoss>(texts.next(element),
                    "{}: the position needs what was at byte {} of file {}, but it ends there now.",
                    open_.format->name, place.at, place.part);
    if (std::ssize(again_) > kMaxReopened) {
      again_.erase(again_.begin()->first == place.part ? std::next(again_.begin())
                                                       : again_.begin());
    }
    return element;
  }

 private:
  static constexpr int64_t kMaxReopened = 16;  // files

  bool advance() {
    if (file_) return true;
    names_.release(names_.taken());
    Element name;
    if (!names_.next(name)) return false;
    begin(name);
    return true;
  }
  void begin(const Element& name) {
    auto file = open_(name);
    placed_ = has_places() ? &dynamic_cast<PlacedTextStream&>(*file) : nullptr;
    file_.emplace(std::move(file));
  }

  // Iterates over the names again.
  StreamPtr<Element> reopened(int64_t number) {
    if (names_again_.empty()) {
      const auto names = open_names_();
      std::vector<Element> again;
      bool more = true;
      while (more && std::ssize(again) < names_.taken()) {
        Element& name = again.emplace_back();
        try {
          more = names->next(name);
        } catch (const Error&) {
          // The failed element counts nevertheless.
        }
      }
      names_again_ = std::move(again);
    }
    const bool known = 0 <= number && number < std::ssize(names_again_) &&
                       !names_again_[static_cast<size_t>(number)].tensors().empty();
    check<DataLoss>(known, "{}: the position needs file {}, but it isn't there now.",
                    open_.format->name, number);
    return open_(names_again_[static_cast<size_t>(number)]);
  }

  OpenNames open_names_;
  Input<Element> names_;
  FileOpener open_;
  std::optional<Input<Element>> file_;
  PlacedTextStream* placed_ = nullptr;           // points into file_, if it has places
  std::vector<Element> names_again_;             // the names up to here, for item_at()
  std::map<int64_t, StreamPtr<Element>> again_;  // some of the files, for item_at()
};

// Takes an element from each file in turn. When a file ends, the next file takes its slot, and
// yields its first element at that slot's next turn.
class FilesInTurn : public Stream<Element> {
 public:
  FilesInTurn(StreamPtr<Element> names, FileOpener open, int64_t count)
      : names_(std::move(names)), open_file_(std::move(open)), count_(count) {}

  bool next(Element& element) override {
    return turn([&](Stream<Element>& file) { return file.next(element); });
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const auto pass_one = [](Stream<Element>& file) { return file.skip(1) == 1; };
    for (; count > 0 && turn(pass_one); --count) ++left_out;
  }

 private:
  template <class F>
  bool turn(F take) {
    begin();
    while (!open_.empty()) {
      if (place_ >= open_.size()) place_ = 0;
      StreamPtr<Element>& file = open_[place_];
      if (take(*file)) {
        ++place_;
        return true;
      }
      file = next_file();
      if (file) {
        ++place_;
      } else {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(place_));
      }
    }
    return false;
  }

  void begin() {
    for (; count_ > 0; --count_) {
      if (auto file = next_file()) open_.push_back(std::move(file));
    }
  }

  // Null after the last file.
  StreamPtr<Element> next_file() {
    Element name;
    if (!names_ || !names_->next(name)) {
      names_.reset();
      return nullptr;
    }
    return open_file_(name);
  }

  StreamPtr<Element> names_;
  FileOpener open_file_;
  int64_t count_;  // number of slots to be filled
  std::vector<StreamPtr<Element>> open_;
  size_t place_ = 0;
};

// Items from `begin` to `end` of a file.
class RecordRange : public Stream<Element> {
 public:
  RecordRange(StreamPtr<Element> file, int64_t begin, int64_t end)
      : file_(std::move(file)), begin_(begin), end_(end) {}

  bool next(Element& element) override {
    go_to_begin();
    return file_.taken() < end_ && file_.next(element);
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    go_to_begin();
    file_.leave_out(std::min(count, end_ - file_.taken()), left_out);
  }

 private:
  void go_to_begin() {
    if (file_.taken() < begin_) file_.skip(begin_ - file_.taken());
  }

  Input<Element> file_;
  int64_t begin_;
  int64_t end_;
};

// The same format, restricted to a worker's range of each file's records.
FileFormat in_ranges(const FileFormat& format, const WorkerPart& part) {
  FileFormat ranges = format;
  ranges.describe += fmt::format(", range {} of {}", part.index, part.count);
  ranges.placed = false;
  ranges.open = [format, part](const std::string& path) {
    const int64_t records = part.counts->of(path, format);
    const auto edge = [&](int64_t k) {
      return records / part.count * k + records % part.count * k / part.count;
    };
    // Errors after the last record are reported by the last worker.
    const bool last = part.index + 1 == part.count;
    return std::make_unique<RecordRange>(format.open(path), edge(part.index),
                                         last ? INT64_MAX : edge(part.index + 1));
  };
  return ranges;
}

class FileRecords : public Node {
 public:
  FileRecords(NodePtr names, FileFormat format, const std::optional<int64_t>& reads)
      : Node({std::move(names)}),
        format_(std::make_shared<const FileFormat>(std::move(format))),
        reads_(reads) {
    const ElementSpec& names_spec = input().spec();
    check<InvalidArgument>(names_spec == text_spec(),
                           "{}: expected filenames that are string scalars, got {}.", format_->name,
                           names_spec.structure ? names_spec.to_string() : "nothing");
    check<InvalidArgument>(
        !reads || *reads == kAutotune || (*reads >= 1 && *reads <= kMaxReads),
        "{}: expected num_parallel_reads of 1 to {}, or data::kAutotune, got {}.", format_->name,
        kMaxReads, reads.value_or(0));
  }

  const ElementSpec& spec() const override { return format_->spec; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return in_turn() ? fmt::format("{}, {} in turn", format_->describe, *reads_)
                     : format_->describe;
  }
  void write(LinkWriter& link) const override { format_->write(link); }
  StreamPtr<Element> elements(Pass pass) const override {
    FileOpener open = {format_, pass, reads_.has_value()};
    const auto names = [this, pass] { return input().stream(pass); };
    if (in_turn()) return std::make_unique<FilesInTurn>(names(), std::move(open), *reads_);
    return std::make_unique<FilesInOrder>(names, std::move(open));
  }
  std::optional<Element> sample() const override {
    Element element;
    FilesInOrder stream([this] { return input().elements(Pass::for_sample()); },
                        {.format = format_, .pass = {}});
    return stream.next(element) ? std::optional(element) : std::nullopt;
  }

  std::optional<int64_t> files() const override { return count_of_names(input()); }
  NodePtr worker_part(const WorkerPart& part) const override {
    if (part.by == WorkerPart::By::Hint) return nullptr;
    if (part.by == WorkerPart::By::Files) {
      return with_inputs({make_sharded_sources(inputs().front(), part)});
    }
    return std::make_shared<FileRecords>(inputs().front(), in_ranges(*format_, part), reads_);
  }

 private:
  bool in_turn() const { return reads_ && *reads_ > 1; }

  std::shared_ptr<const FileFormat> format_;
  std::optional<int64_t> reads_;
};

// The number of records up to where the file is damaged.
int64_t good_records(const std::string& path, const FileFormat& format) {
  const auto file = format.open(path);
  int64_t count = 0;
  try {
    file->leave_out(INT64_MAX, count);
  } catch (const Error&) {  // reported when reading reaches that record
  }
  return count;
}

}  // namespace

int64_t RecordCounts::of(const std::string& path, const FileFormat& format) {
  const std::lock_guard lock(mutex_);
  const auto count = counts_.try_emplace({format.describe, path}, kUnknown).first;
  if (count->second == kUnknown) count->second = good_records(path, format);
  return count->second;
}

Tensor text_scalar(std::string text) {
  Tensor tensor = Tensor::empty({}, DType::String);
  tensor.mutable_data<std::string>()[0] = std::move(text);
  return tensor;
}

bool TextStream::next(Element& element) {
  std::string text;
  if (!next_text(text)) return false;
  element = Element({text_scalar(std::move(text))}, single_tensor());
  return true;
}

ElementSpec text_spec() { return {{{DType::String, Shape{}}}, single_tensor()}; }

NodePtr make_file_records(NodePtr names, FileFormat format,
                          const std::optional<int64_t>& parallel_reads) {
  return std::make_shared<FileRecords>(std::move(names), std::move(format), parallel_reads);
}

}  // namespace cornu::data

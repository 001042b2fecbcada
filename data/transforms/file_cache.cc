// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <filesystem>

#include "data/readers/element_file.h"
#include "data/transforms/kept_files.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"
#include "framework/io/atomic_file.h"
#include "framework/io/crc.h"

namespace cornu::data {
namespace {

// Writes the elements of a complete pass. If an element fails or the pass is abandoned, no file is
// written.
class WritingStream : public Stream<Element> {
 public:
  WritingStream(StreamPtr<Element> input, const std::string& path, Compression compression,
                const Node& node, const std::string& seeds)
      : input_(std::move(input)),
        writer_(std::in_place, path, compression, node.spec(), describe_chain(node), seeds) {}

  bool next(Element& element) override {
    if (ended_) return false;
    try {
      ended_ = !input_->next(element);
    } catch (...) {
      writer_.reset();
      throw;
    }
    if (writer_) keep(element);
    return !ended_;
  }

 private:
  // Elements don't depend on the file: if it can't be written, e.g. because the disk is full, they
  // just aren't cached.
  void keep(const Element& element) {
    try {
      ended_ ? writer_->close() : writer_->write(element);
    } catch (const Error& error) {
      logging::warn(fmt::format("The elements aren't kept in a file: {}", error.what()));
      writer_.reset();
    }
  }

  StreamPtr<Element> input_;
  std::optional<ElementFileWriter> writer_;
  bool ended_ = false;
};

class ReadingStream : public Stream<Element> {
 public:
  ReadingStream(const std::string& path, Compression compression, const Node& node, const char* who)
      : reader_(path, compression) {
    check<FailedPrecondition>(
        reader_.spec() == node.spec() && reader_.pipeline() == describe_chain(node),
        "{}: {} has the elements of another pipeline, {}, and this one is {}. Remove the file, or "
        "give another name.",
        who, path, reader_.pipeline(), describe_chain(node));
  }

  bool next(Element& element) override { return reader_.next(element); }
  void leave_out(int64_t count, int64_t& left_out) override {
    for (; count > 0 && reader_.skip(); --count) ++left_out;
  }
  const std::string& seeds() const { return reader_.seeds(); }

 private:
  ElementFileReader reader_;
};

// Elements whose order depends on drawn seeds. A position contains these seeds, since the file that
// exists when it is restored may have been written by another run.
class DrawnOrderStream : public Stream<Element> {
 public:
  // `from_file`: whether the elements are read from the file; otherwise they are computed with the
  // seeds.
  DrawnOrderStream(StreamPtr<Element> input, std::string seeds, bool from_file, std::string path,
                   const char* who)
      : input_(std::move(input)),
        seeds_(std::move(seeds)),
        from_file_(from_file),
        path_(std::move(path)),
        who_(who) {}

  bool next(Element& element) override { return input_.next(element); }
  void leave_out(int64_t count, int64_t& left_out) override { input_.leave_out(count, left_out); }

  Json save() const override {
    return Json::object({{"drawn", seeds_}, {"input", input_.position()}});
  }
  void restore(const Json& state) override {
    const bool same = streams::saved_part(state, "drawn") == Json(seeds_);
    check<FailedPrecondition>(
        same || !from_file_,
        "{}: the position is among elements in another order than those that {} has: another run "
        "drew it. Delete the file to resume from the position, or start over to use the file.",
        who_, path_);
    check<FailedPrecondition>(same,
                              "{}: the position is among the elements that {} had, whose order "
                              "another run drew. Restore the file, or start over.",
                              who_, path_);
    input_.restore(streams::saved_part(state, "input"));
  }

 private:
  Input<Element> input_;
  std::string seeds_;
  bool from_file_;
  std::string path_;
  const char* who_;
};

class FileCached : public Node {
 public:
  FileCached(NodePtr input, std::string path, Compression compression, const char* who)
      : Node({std::move(input)}),
        given_path_(std::move(path)),
        path_(given_path_),
        compression_(compression),
        who_(who) {}

  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  // Omits the path, which doesn't affect the elements.
  std::string describe() const override { return "file_cache"; }
  void write(LinkWriter&) const override { refuse_to_travel(who_); }
  StreamPtr<Element> elements(Pass pass) const override {
    std::error_code error;
    if (std::filesystem::exists(path_, error)) {
      auto reading = std::make_unique<ReadingStream>(path_, compression_, input(), who_);
      std::string seeds = reading->seeds();
      return in_order(std::move(reading), std::move(seeds), true);
    }
    if (pass.sample) return input().stream(pass);
    // Always the same pass, so that the cached elements don't depend on which pass fills the file.
    pass.id = 0;
    std::string seeds = fmt::format("{:016x}", fmt::join(seeds_in(pass, input()), " "));
    auto writing =
        std::make_unique<WritingStream>(input().stream(pass), path_, compression_, input(), seeds);
    return in_order(std::move(writing), std::move(seeds), false);
  }

 protected:
  void inputs_changed() override { path_ = path_of_part(given_path_, input()); }

 private:
  StreamPtr<Element> in_order(StreamPtr<Element> stream, std::string seeds, bool from_file) const {
    if (seeds.empty()) return stream;
    return std::make_unique<DrawnOrderStream>(std::move(stream), std::move(seeds), from_file, path_,
                                              who_);
  }

  std::string given_path_;
  std::string path_;
  Compression compression_;
  const char* who_;
};

}  // namespace

NodePtr make_kept_file(NodePtr input, std::string path, Compression compression, const char* who) {
  return std::make_shared<FileCached>(std::move(input), std::move(path), compression, who);
}

NodePtr make_file_cache(NodePtr input, const std::string& filename) {
  check<InvalidArgument>(!filename.empty(), "cache: expected a filename, got ''.");
  return make_kept_file(std::move(input), filename, Compression::None, "cache");
}

std::string path_of_part(const std::string& given, const Node& part) {
  const std::string chain = describe_chain(part);
  return fmt::format("{}-{:08x}", given, crc32c(std::as_bytes(std::span(chain))));
}

void refuse_to_travel(const char* who) {
  raise<FailedPrecondition>(
      "{}: it can't be serialized, since it would write a file of that name elsewhere. Call it "
      "where the dataset is iterated, or use cache() in memory.",
      who);
}

}  // namespace cornu::data

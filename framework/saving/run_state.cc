// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/run_state.h"

#include <fcntl.h>
#include <unistd.h>
#include <limits>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include "framework/core/ascii.h"
#include "framework/core/logging.h"
#include "framework/io/atomic_file.h"
#include "framework/io/crc.h"
#include "framework/io/file_reader.h"

namespace cornu {
namespace {

constexpr std::array<char, 8> kMagic = {'\x89', 'C', 'R', 'N', 'R', 'U', 'N', '\n'};
constexpr uint32_t kVersion = 2;
constexpr uint32_t kByteOrder = 0x01020304;
constexpr size_t kAlignment = 64;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t byte_order = kByteOrder;
  uint64_t file_bytes = 0;
  uint64_t text_bytes = 0;
};
static_assert(sizeof(Header) == 32);

size_t aligned(size_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

// The position of the checksum.
size_t end_of(size_t text_bytes, const std::vector<size_t>& tensor_bytes) {
  size_t end = sizeof(Header) + text_bytes;
  for (const size_t bytes : tensor_bytes) end = aligned(end) + bytes;
  return end;
}

using Sink = std::function<void(std::span<const std::byte>)>;
using Source = std::function<void(std::span<std::byte>)>;

// Writes data and computes its checksum.
class Writer {
 public:
  explicit Writer(Sink sink) : sink_(std::move(sink)) {}
  void write(const void* data, size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    crc_ = crc32c({from, bytes}, crc_);
    at_ += bytes;
    sink_({from, bytes});
  }
  void align() {
    constexpr std::array<char, kAlignment> kZeros{};
    write(kZeros.data(), aligned(at_) - at_);
  }
  uint32_t crc() const { return crc_; }

 private:
  Sink sink_;
  uint32_t crc_ = 0;
  size_t at_ = 0;
};

// Reads data and computes its checksum.
class Reader {
 public:
  Reader(size_t size, Source source) : size_(size), source_(std::move(source)) {}
  void read(void* data, size_t bytes) {
    const std::span<std::byte> out(static_cast<std::byte*>(data), bytes);
    source_(out);
    crc_ = crc32c(out, crc_);
    at_ += bytes;
  }
  void align() {
    std::array<char, kAlignment> skipped;
    read(skipped.data(), aligned(at_) - at_);
  }
  size_t size() const { return size_; }
  uint32_t crc() const { return crc_; }

 private:
  size_t size_;
  Source source_;
  uint32_t crc_ = 0;
  size_t at_ = 0;
};

std::string text_of(const RunState& state) {
  Json::Array tensors;
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : state.tensors) {
    check<InvalidArgument>(names.insert(name).second, "Run state: two tensors are named '{}'.",
                           name);
    tensors.push_back(Json::object(
        {{"name", name}, {"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape()}}));
  }
  return Json::object({{"info", state.info}, {"tensors", std::move(tensors)}}).dump();
}

void check_header(const Header& header, size_t file_bytes, std::string_view what) {
  check<DataLoss>(header.magic == kMagic, "it isn't a {}", what);
  check<DataLoss>(header.byte_order == kByteOrder,
                  "it was written on a machine of another byte order");
  check<DataLoss>(header.version == kVersion,
                  "expected version {} of the format, got {}; another version of Cornu wrote it",
                  kVersion, header.version);
  check<DataLoss>(header.file_bytes == file_bytes, "expected {} bytes, got {}; it is {}",
                  header.file_bytes, file_bytes,
                  header.file_bytes > file_bytes ? "cut off" : "too long");
  check<DataLoss>(header.text_bytes < file_bytes, "its header is damaged");
}

RunState read_whole(Reader& reader, std::string_view what) {
  Header header;
  check<DataLoss>(reader.size() >= sizeof(header), "it is cut off");
  reader.read(&header, sizeof(header));
  check_header(header, reader.size(), what);
  std::string text(header.text_bytes, '\0');
  reader.read(text.data(), text.size());
  const Json json = Json::parse(text);

  RunState state;
  state.info = json.at("info");
  const Json::Array& tensors = json.at("tensors").as_array();
  std::vector<size_t> sizes;
  for (const Json& tensor : tensors) {
    const Shape shape = tensor.at("shape").as_shape();
    sizes.push_back(shape.num_bytes(size_of(dtype_from_string(tensor.at("dtype").as_string()))));
    check<DataLoss>(sizes.back() <= reader.size(), "its tensors are larger than it is");
  }
  uint32_t crc = 0;
  check<DataLoss>(end_of(text.size(), sizes) + sizeof(crc) == reader.size(),
                  "its size isn't that of its tensors");
  for (size_t i = 0; i < sizes.size(); ++i) {
    Tensor tensor = Tensor::empty(tensors[i].at("shape").as_shape(),
                                  dtype_from_string(tensors[i].at("dtype").as_string()));
    reader.align();
    reader.read(tensor.mutable_raw(), sizes[i]);
    state.tensors.emplace_back(tensors[i].at("name").as_string(), std::move(tensor));
  }
  const uint32_t expected = reader.crc();
  reader.read(&crc, sizeof(crc));
  check<DataLoss>(crc == expected, "its checksum is wrong");
  return state;
}

}  // namespace

const Tensor& RunState::tensor(std::string_view name) const {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return tensor;
  }
  raise<NotFound>("Run state: there is no tensor named '{}'.", name);
}

namespace {

void write_whole(const RunState& state, const std::string& text, Sink sink) {
  std::vector<size_t> sizes;
  for (const auto& [name, tensor] : state.tensors) sizes.push_back(tensor.bytes());
  Header header;
  header.text_bytes = text.size();
  header.file_bytes = end_of(text.size(), sizes) + sizeof(uint32_t);
  Writer writer(std::move(sink));
  writer.write(&header, sizeof(header));
  writer.write(text.data(), text.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    writer.align();
    const Tensor on_host = state.tensors[i].second.host();
    writer.write(on_host.raw(), sizes[i]);
  }
  const uint32_t crc = writer.crc();
  writer.write(&crc, sizeof(crc));
}

// `where`: the path preceded by a space, or empty.
RunState read_named(Reader reader, std::string_view what, const std::string& where) {
  try {
    return read_whole(reader, what);
  } catch (const ResourceExhausted&) {  // the file may be intact
    throw;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    std::string title(what);
    title[0] = ascii::to_upper(title[0]);
    raise<DataLoss>("{}{}: {}{}", title, where, text, text.ends_with('.') ? "" : ".");
  }
}

}  // namespace

void write_run_state(const std::string& path, const RunState& state) {
  const std::string text = text_of(state);
  write_file_atomically(path, [&](const std::string& temporary) {
    const FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) raise_file_error(temporary, "be written", errno);
    write_whole(state, text, [&](std::span<const std::byte> bytes) {
      if (!write_all(file.get(), bytes)) raise_file_error(temporary, "be written", errno);
    });
  });
}

std::string encode_run_state(const RunState& state) {
  std::string bytes;
  write_whole(state, text_of(state), [&](std::span<const std::byte> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  });
  return bytes;
}

RunState decode_run_state(std::string_view bytes, std::string_view what) {
  const size_t size = bytes.size();
  const auto take = [&](std::span<std::byte> out) {
    check<DataLoss>(out.size() <= bytes.size(), "it is cut off");
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size());
    bytes.remove_prefix(out.size());
  };
  return read_named(Reader(size, take), what, "");
}

RunState read_run_state(const std::string& path, std::string_view what) {
  FileReader file(path);
  return read_named(Reader(file.size(), [&](std::span<std::byte> out) { file.read(out); }), what,
                    " " + path);
}

RunStateFolder::RunStateFolder(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code unknown;  // also if the name is too long
  check<FailedPrecondition>(
      fs::is_directory(path, unknown),
      "Run state: '{}' isn't a directory, and none can be created there{}{}. Choose another path.",
      path, error ? ": " : "", error ? error.message() : "");
  try {
    lock_ = FileLock::try_lock(fs::path(path) / "run_state.lock");
  } catch (const Unavailable& unavailable) {
    raise<FailedPrecondition>("Run state: {} Make the directory writable, or choose another one.",
                              unavailable.what());
  }
  check<FailedPrecondition>(
      lock_ != nullptr,
      "Run state: another run that is alive, or another callback of this one, keeps its state in "
      "'{}'. Wait for its end, or choose another directory.",
      path);
}

RunStateFolder::~RunStateFolder() {
  lock_.reset();
  if (cleared_) rmdir(path_.c_str());  // fails if the directory isn't empty
}

namespace {

// The name under which the current state becomes the previous one.
std::string link_of(const std::string& previous) { return previous + ".link"; }

}  // namespace

std::string RunStateFolder::file() const { return path_ + "/run_state"; }
std::string RunStateFolder::previous() const { return path_ + "/run_state.previous"; }

std::optional<RunState> RunStateFolder::peek(const std::string& path) {
  for (const char* file : {"/run_state", "/run_state.previous"}) {
    try {
      return read_run_state(path + file);
    } catch (const Error&) {  // missing or invalid: others have their own
    }
  }
  return {};
}

void RunStateFolder::clear_unused(const std::string& path) {
  try {
    RunStateFolder(path).clear();
  } catch (const Error&) {  // in use by a run
  }
}

std::pair<int64_t, int64_t> place_in_run(const RunState& state) {
  const Json& batch = state.info.at("batch");
  return {state.info.at("epoch").as_int(),
          batch.is_null() ? std::numeric_limits<int64_t>::max() : batch.as_int()};
}

std::optional<RunState> RunStateFolder::load() const {
  std::string damage;
  for (const std::string& path : {file(), previous()}) {
    try {
      RunState state = read_run_state(path);
      state.folder = path_;
      if (!damage.empty()) {
        logging::warn(fmt::format("{} The state before it is used, {}.", damage, path));
      }
      return state;
    } catch (const NotFound&) {
    } catch (const DataLoss& error) {
      if (damage.empty()) damage = error.what();
    }
  }
  check<DataLoss>(
      damage.empty(),
      "{} There is no complete state before it, either. Delete the directory '{}' to start over.",
      damage, path_);
  return std::nullopt;
}

void RunStateFolder::save(const RunState& state) {
  cleared_ = false;
  const std::string link = link_of(previous());
  unlink(link.c_str());
  // Creates a second name for the current state. Without hard link support, there is only one
  // state.
  if (::link(file().c_str(), link.c_str()) == 0 && rename(link.c_str(), previous().c_str()) != 0) {
    unlink(link.c_str());
  }
  // Renaming one name of a file to another keeps both: removes the link.
  unlink(link.c_str());
  write_run_state(file(), state);
}

void RunStateFolder::clear() {
  unlink(previous().c_str());  // first: if killed in between, the newest state remains
  unlink(file().c_str());
  unlink(link_of(previous()).c_str());
  remove_leftovers(path_);
  cleared_ = true;
}

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/core/error.h"
#include "framework/saving/gathered_file.h"
#include "framework/saving/hdf5_file.h"

namespace cornu {
namespace {

// Exclusive use of the library by one thread; the library prints no errors meanwhile.
class Session {
 public:
  Session() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Session() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The library's innermost error message for its last failed call.
  static std::string error() {
    std::string text;
    H5Ewalk2(
        H5E_DEFAULT, H5E_WALK_UPWARD,
        [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
          *static_cast<std::string*>(out) = entry->desc ? entry->desc : "";
          return 1;  // the first is the most specific
        },
        &text);
    return text.empty() ? "unknown error" : text;
  }

 private:
  static std::mutex& mutex() {
    static auto* const mutex = [] {
      // Static objects' destructors may save, too. Fails if the program has used the library
      // before.
      H5dont_atexit();
      return new std::mutex;
    }();
    return *mutex;
  }
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// An owned HDF5 identifier. Created and closed only within a Session.
class Id {
 public:
  using Close = herr_t (*)(hid_t);
  Id() = default;
  Id(hid_t id, Close close) : id_(id), close_(close) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Id& operator=(Id&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }
  ~Id() { reset(); }

  hid_t get() const { return id_; }
  bool ok() const { return id_ >= 0; }
  bool reset() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// ---- libhdf5 driver for a GatheredFile ----

struct OpenFile {
  H5FD_t head;  // libhdf5's own part; must come first
  GatheredFile* file;
  haddr_t allocated, size;
};

OpenFile& opened(H5FD_t* file) { return *reinterpret_cast<OpenFile*>(file); }
const OpenFile& opened(const H5FD_t* file) { return *reinterpret_cast<const OpenFile*>(file); }

// The file that the driver opens, whatever the name: set and read within a session.
GatheredFile* next_to_open = nullptr;

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION  // libhdf5 1.14
    driver.version = H5FD_CLASS_VERSION;
    driver.value = H5_VFD_RESERVED;  // the first free value
#endif
    driver.name = "cornu_gathered";
    driver.maxaddr = static_cast<haddr_t>(~haddr_t{0} >> 1);
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.open = [](const char*, unsigned, hid_t, haddr_t) {
      auto file = std::make_unique<OpenFile>();
      file->file = next_to_open;
      return &file.release()->head;
    };
    driver.close = [](H5FD_t* file) -> herr_t {
      delete &opened(file);
      return 0;
    };
    driver.query = [](const H5FD_t*, unsigned long* flags) -> herr_t {
      if (flags) {
        *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
      }
      return 0;
    };
    driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return opened(file).allocated; };
    driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t address) -> herr_t {
      opened(file).allocated = address;
      return 0;
    };
    driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return opened(file).size; };
    driver.read = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                     void* out) -> herr_t {
      opened(file).file->read(address, {static_cast<std::byte*>(out), size});
      return 0;
    };
    driver.write = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                      const void* bytes) -> herr_t {
      try {
        opened(file).file->write(address, {static_cast<const std::byte*>(bytes), size});
      } catch (const std::bad_alloc&) {
        return -1;
      }
      opened(file).size = std::max(opened(file).size, address + size);
      return 0;
    };
    driver.truncate = [](H5FD_t* file, hid_t, hbool_t) -> herr_t {
      opened(file).size = opened(file).allocated;
      return 0;
    };
    for (H5FD_mem_t& type : driver.fl_map) type = H5FD_MEM_SUPER;  // a single free-space list
    return H5FDregister(&driver);
  }();
  return id;
}

Id half_type(hid_t single) {
  Id type(H5Tcopy(single), H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

Id bool_type() {
  Id type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const int8_t values[] = {0, 1};
  H5Tenum_insert(type.get(), "FALSE", &values[0]);
  H5Tenum_insert(type.get(), "TRUE", &values[1]);
  return type;
}

Id string_type() {
  Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

// A string type of this length; shorter strings are padded with zeros.
Id fixed_string_type(size_t length) {
  Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), length);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return type;
}

// The type in the file or in memory.
Id type_of(DType dtype, bool in_file) {
  const auto copy = [&](hid_t file, hid_t memory) {
    return Id(H5Tcopy(in_file ? file : memory), H5Tclose);
  };
  switch (dtype) {
    case DType::Bool:
      return bool_type();
    case DType::UInt8:
      return copy(H5T_STD_U8LE, H5T_NATIVE_UINT8);
    case DType::Int8:
      return copy(H5T_STD_I8LE, H5T_NATIVE_INT8);
    case DType::Int32:
      return copy(H5T_STD_I32LE, H5T_NATIVE_INT32);
    case DType::Int64:
      return copy(H5T_STD_I64LE, H5T_NATIVE_INT64);
    case DType::UInt32:
      return copy(H5T_STD_U32LE, H5T_NATIVE_UINT32);
    case DType::UInt64:
      return copy(H5T_STD_U64LE, H5T_NATIVE_UINT64);
    case DType::Float16:
      return half_type(in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT);
    case DType::BFloat16:
      return Id(H5Tcreate(H5T_OPAQUE, 2), H5Tclose);
    case DType::Float32:
      return copy(H5T_IEEE_F32LE, H5T_NATIVE_FLOAT);
    case DType::Float64:
      return copy(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE);
    case DType::String:
      break;
  }
  internal::refuse_strings();
}

Id space_of(const Shape& shape) {
  if (shape.empty()) return Id(H5Screate(H5S_SCALAR), H5Sclose);
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  return Id(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
}

}  // namespace

struct Hdf5Writer::State {
  std::shared_ptr<GatheredFile> bytes = std::make_shared<GatheredFile>();
  std::vector<Tensor> kept;  // keeps referenced bytes alive
  Id file;
  std::map<std::string, bool> made = {{"", true}};  // path -> whether it is a group

  ~State() {
    const Session session;
    file.reset();
  }

  // For library calls that can fail only for lack of memory.
  static void require(bool ok, std::string_view path) {
    if (ok) [[likely]]
      return;
    raise<ResourceExhausted>("HDF5: '{}' can't be written: {}.", path, Session::error());
  }

  void require_open() const {
    check<FailedPrecondition>(file.ok(),
                              "HDF5: expected a file being written, its bytes were taken.");
  }

  // Checks that `path` is free and reserves it, along with missing parent groups.
  void take(const std::string& path, bool is_group) {
    require_open();
    // In HDF5, "." is the group itself.
    const std::string between = "/" + path + "/";
    check<InvalidArgument>(between.find("//") == std::string::npos &&
                               between.find("/./") == std::string::npos &&
                               path.find('\0') == std::string::npos,
                           "HDF5: expected names joined by '/', got '{}'.", path);
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      const bool free = made.emplace(path.substr(0, at), true).first->second;
      check<AlreadyExists>(free, "HDF5: '{}' is a dataset, nothing can be written below it.",
                           path.substr(0, at));
    }
    check<AlreadyExists>(made.emplace(path, is_group).second,
                         "HDF5: '{}' was written before. Give it another name.", path);
  }

  Id link_creation() const {
    Id creation(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    require(H5Pset_create_intermediate_group(creation.get(), 1) >= 0, "");
    return creation;
  }

  void add_attribute(const std::string& path, const std::string& attribute, const Id& type,
                     const Id& memory_type, const Id& space, const void* value) const {
    const Id object(H5Oopen(file.get(), path.empty() ? "/" : path.c_str(), H5P_DEFAULT), H5Oclose);
    require(object.ok(), path);
    check<AlreadyExists>(H5Aexists(object.get(), attribute.c_str()) == 0,
                         "HDF5: '{}' has an attribute '{}' already.", path, attribute);
    const Id made(H5Acreate2(object.get(), attribute.c_str(), type.get(), space.get(), H5P_DEFAULT,
                             H5P_DEFAULT),
                  H5Aclose);
    require(made.ok() && H5Awrite(made.get(), memory_type.get(), value) >= 0, path);
  }

  void check_attribute(const std::string& path, const std::string& attribute) const {
    require_open();
    check<NotFound>(made.contains(path),
                    "HDF5: there is no '{}' to get an attribute. Write it first.", path);
    check<InvalidArgument>(!attribute.empty() && attribute.find('\0') == std::string::npos,
                           "HDF5: '{}': expected an attribute's name, got '{}'.", path, attribute);
  }

  static void check_text(const std::string& path, const std::string& attribute,
                         std::string_view value) {
    check<InvalidArgument>(value.find('\0') == std::string_view::npos,
                           "HDF5: '{}': the attribute '{}' has a zero byte in it.", path,
                           attribute);
  }
};

// Uses the format that every reader supports.
Hdf5Writer::Hdf5Writer() : state_(std::make_unique<State>()) {
  const Session session;
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  State::require(H5Pset_driver(access.get(), driver(), nullptr) >= 0 &&
                     H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) >= 0 &&
                     H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) >= 0,
                 "");
  next_to_open = state_->bytes.get();
  state_->file = Id(H5Fcreate("memory", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  State::require(state_->file.ok(), "");
}

Hdf5Writer::~Hdf5Writer() = default;
Hdf5Writer::Hdf5Writer(Hdf5Writer&&) noexcept = default;
Hdf5Writer& Hdf5Writer::operator=(Hdf5Writer&&) noexcept = default;

void Hdf5Writer::make_group(const std::string& path) {
  const Session session;
  state_->take(path, true);
  const Id links = state_->link_creation();
  const Id group(
      H5Gcreate2(state_->file.get(), path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Gclose);
  State::require(group.ok(), path);
}

void Hdf5Writer::write(const std::string& path, const Tensor& tensor) {
  check<InvalidArgument>(tensor.rank() <= H5S_MAX_RANK,
                         "HDF5: '{}': expected at most {} axes, got shape {}.", path, H5S_MAX_RANK,
                         tensor.shape());
  const Tensor on_host = tensor.host();
  const std::byte* elements = on_host.raw();
  {
    const Session session;
    state_->take(path, false);
    const Id links = state_->link_creation();
    const Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    State::require(H5Pset_obj_track_times(creation.get(), false) >= 0, path);
    const Id type = type_of(tensor.dtype(), true);
    const Id space = space_of(tensor.shape());
    const Id dataset(H5Dcreate2(state_->file.get(), path.c_str(), type.get(), space.get(),
                                links.get(), creation.get(), H5P_DEFAULT),
                     H5Dclose);
    State::require(dataset.ok(), path);
    const Id memory_type = type_of(tensor.dtype(), false);
    state_->kept.push_back(on_host);
    state_->bytes->share({elements, on_host.bytes()});
    State::require(tensor.num_elements() == 0 || H5Dwrite(dataset.get(), memory_type.get(), H5S_ALL,
                                                          H5S_ALL, H5P_DEFAULT, elements) >= 0,
                   path);
  }
  if (tensor.dtype() == DType::BFloat16) set_attribute(path, "dtype", "bfloat16");
}

void Hdf5Writer::set_attribute(const std::string& path, const std::string& name,
                               std::string_view value) {
  const Session session;
  state_->check_attribute(path, name);
  State::check_text(path, name, value);
  const std::string text(value);
  const char* pointer = text.c_str();
  const Id type = string_type();
  state_->add_attribute(path, name, type, type, space_of({}), &pointer);
}

void Hdf5Writer::set_attribute(const std::string& path, const std::string& name,
                               const std::vector<std::string>& values) {
  const Session session;
  state_->check_attribute(path, name);
  size_t length = 1;
  for (const std::string& value : values) {
    State::check_text(path, name, value);
    length = std::max(length, value.size());
  }
  check<InvalidArgument>(length <= kMaxInList / std::max<size_t>(values.size(), 1),
                         "HDF5: '{}': the attribute '{}' expected a list of at most {} bytes, got "
                         "{} strings of up to {}.",
                         path, name, kMaxInList, values.size(), length);
  std::string bytes(values.size() * length, '\0');
  for (size_t i = 0; i < values.size(); ++i) values[i].copy(&bytes[i * length], length);
  // NumPy turns an empty list into numbers.
  const Id type = values.empty() ? type_of(DType::Float64, true) : fixed_string_type(length);
  state_->add_attribute(path, name, type, type, space_of({static_cast<int64_t>(values.size())}),
                        bytes.data());
}

void Hdf5Writer::set_attribute(const std::string& path, const std::string& name, int64_t value) {
  const Session session;
  state_->check_attribute(path, name);
  state_->add_attribute(path, name, type_of(DType::Int64, true), type_of(DType::Int64, false),
                        space_of({}), &value);
}

size_t Hdf5Image::size() const {
  size_t total = 0;
  for (const auto& piece : pieces) total += piece.size();
  return total;
}

Hdf5Image Hdf5Writer::take() {
  const Session session;
  state_->require_open();
  state_->bytes->share({});
  const hid_t file = state_->file.get();
  hsize_t size = 0;
  State::require(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && H5Fget_filesize(file, &size) >= 0, "");
  State::require(state_->file.reset(), "");
  return {state_->bytes->pieces(size), std::pair(state_->bytes, state_->kept)};
}

std::vector<std::byte> Hdf5Writer::take_bytes() {
  const Hdf5Image image = take();
  std::vector<std::byte> bytes;
  bytes.reserve(image.size());
  for (const auto& piece : image.pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// HDF5 files as others may write them: in either format, with features that Keras doesn't use.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "framework/io/atomic_file.h"
#include "tests/support/scratch.h"

namespace cornu::test {

class Foreign {
 public:
  // `latest`: in the newest format that the library supports instead of the earliest.
  explicit Foreign(bool latest) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    links_ = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links_, 1);
  }
  ~Foreign() { close(); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  std::vector<std::byte> take_bytes() {
    close();
    return read_file(path_, SIZE_MAX);
  }

  void add_float(const std::string& path, float value) {
    add(path, H5T_IEEE_F32LE, {}, H5P_DEFAULT, &value);
  }
  void add_compact(const std::string& path, const std::vector<float>& values) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(creation, H5D_COMPACT);
    add(path, H5T_IEEE_F32LE, {values.size()}, creation, values.data());
    H5Pclose(creation);
  }
  struct Chunks {
    std::vector<hsize_t> shape;
    std::vector<hsize_t> most = {};  // the maximum size of the dataset
    bool shuffle = false;
    int gzip = 0;  // compression level
    bool fletcher32 = false;
    bool plain_edges = false;  // chunks that reach past the end aren't filtered
    bool early = false;        // allocates all chunks when the dataset is created
  };
  // Adds floats in chunks, stored with type `type` in the file.
  void add_chunked(const std::string& path, const std::vector<hsize_t>& dims,
                   const std::vector<float>& values, const Chunks& chunks,
                   hid_t type = H5T_IEEE_F32LE) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, static_cast<int>(chunks.shape.size()), chunks.shape.data());
    if (chunks.plain_edges) H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    if (chunks.shuffle) H5Pset_shuffle(creation);
    if (chunks.gzip > 0) H5Pset_deflate(creation, static_cast<unsigned>(chunks.gzip));
    if (chunks.fletcher32) H5Pset_fletcher32(creation);
    if (chunks.early) H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    add(path, type, dims, creation, values.empty() ? nullptr : values.data(), chunks.most);
    H5Pclose(creation);
  }
  // Adds one chunk of ten floats with shuffle and gzip filters, stored as these bytes.
  void add_stored(const std::string& path, const std::vector<unsigned char>& bytes) {
    add_chunked(path, {10}, {}, {.shape = {10}, .shuffle = true, .gzip = 6});
    const hid_t dataset = H5Dopen2(file_, path.c_str(), H5P_DEFAULT);
    const hsize_t first[] = {0};
    H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, first, bytes.size(), bytes.data());
    H5Dclose(dataset);
  }
  // Adds a dataset with a filter that Cornu doesn't support.
  void add_nbit(const std::string& path) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {5};
    H5Pset_chunk(creation, 1, chunk);
    H5Pset_nbit(creation);
    const std::vector<float> values(10, 1);
    add(path, H5T_IEEE_F32LE, {10}, creation, values.data());
    H5Pclose(creation);
  }
  // Adds a dataset whose elements are those of a dataset in another file.
  void add_virtual(const std::string& path, const std::string& file, const std::string& source) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t dims[] = {10};
    const hid_t space = H5Screate_simple(1, dims, nullptr);
    H5Pset_virtual(creation, space, file.c_str(), source.c_str(), space);
    add(path, H5T_IEEE_F32LE, {10}, creation, nullptr);
    H5Sclose(space);
    H5Pclose(creation);
  }
  void add_typed(const std::string& path, hid_t type, const std::vector<float>& values) {
    add(path, type, {values.size()}, H5P_DEFAULT, values.data());
  }
  void add_external_data(const std::string& path, const std::string& file) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, file.c_str(), 0, 40);
    add(path, H5T_IEEE_F32LE, {10}, creation, nullptr);
    H5Pclose(creation);
  }
  void add_unwritten(const std::string& path) {
    add(path, H5T_IEEE_F32LE, {1'000'000}, H5P_DEFAULT, nullptr);
  }
  // Adds a dataset without any chunks: a shape of terabytes in a few bytes.
  void add_huge(const std::string& path) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1024, 1024};
    H5Pset_chunk(creation, 2, chunk);
    add(path, H5T_IEEE_F32LE, {1'000'000, 1'000'000}, creation, nullptr);
    H5Pclose(creation);
  }
  void add_null(const std::string& path) {
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(
        H5Dcreate2(file_, path.c_str(), H5T_IEEE_F32LE, space, links_, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  }
  void add_soft_link(const std::string& path, const std::string& target) {
    H5Lcreate_soft(target.c_str(), file_, path.c_str(), links_, H5P_DEFAULT);
  }
  void add_external_link(const std::string& path, const std::string& file,
                         const std::string& target) {
    H5Lcreate_external(file.c_str(), target.c_str(), file_, path.c_str(), links_, H5P_DEFAULT);
  }
  void add_fixed_string(const std::string& object, const std::string& name,
                        const std::string& value) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, value.size() + 4);
    std::string padded = value;
    padded.resize(value.size() + 4);
    add_attribute(object, name, type, padded.data());
    H5Tclose(type);
  }
  // Adds a list of bytes as h5py does: padded with zeros to the length of the longest.
  void add_strings(const std::string& object, const std::string& name,
                   const std::vector<std::string>& values) {
    size_t longest = 1;
    for (const std::string& value : values) longest = std::max(longest, value.size());
    std::string padded;
    for (const std::string& value : values) {
      padded += value + std::string(longest - value.size(), '\0');
    }
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, longest);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    add_attribute(object, name, values.empty() ? H5T_NATIVE_DOUBLE : type, padded.data(),
                  {values.size()});
    H5Tclose(type);
  }
  // Adds a list of str as h5py does.
  void add_texts(const std::string& object, const std::string& name,
                 const std::vector<std::string>& values) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());
    add_attribute(object, name, type, pointers.data(), {values.size()});
    H5Tclose(type);
  }
  void add_floats(const std::string& path, const std::vector<hsize_t>& dims,
                  const std::vector<float>& values) {
    add(path, H5T_IEEE_F32LE, dims, H5P_DEFAULT, values.data());
  }
  void add_group(const std::string& path) {
    H5Gclose(H5Gcreate2(file_, path.c_str(), links_, H5P_DEFAULT, H5P_DEFAULT));
  }
  void add_short(const std::string& object, const std::string& name, short value) {
    add_attribute(object, name, H5T_NATIVE_SHORT, &value);
  }

 private:
  void close() {
    if (file_ < 0) return;
    H5Pclose(links_);
    H5Fclose(file_);
    file_ = -1;
  }
  void add(const std::string& path, hid_t type, const std::vector<hsize_t>& dims, hid_t creation,
           const void* floats, const std::vector<hsize_t>& most = {}) {
    const hid_t space = dims.empty() ? H5Screate(H5S_SCALAR)
                                     : H5Screate_simple(static_cast<int>(dims.size()), dims.data(),
                                                        most.empty() ? nullptr : most.data());
    const hid_t dataset =
        H5Dcreate2(file_, path.c_str(), type, space, links_, creation, H5P_DEFAULT);
    if (floats) H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, floats);
    H5Dclose(dataset);
    H5Sclose(space);
  }
  void add_attribute(const std::string& object, const std::string& name, hid_t type,
                     const void* value, const std::vector<hsize_t>& dims = {}) {
    const hid_t space =
        dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, dims.data(), nullptr);
    const hid_t to = H5Oopen(file_, object.c_str(), H5P_DEFAULT);
    const hid_t attribute = H5Acreate2(to, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, value);
    H5Aclose(attribute);
    H5Oclose(to);
    H5Sclose(space);
  }

  Scratch scratch_;
  std::string path_ = scratch_.path("foreign.h5");
  hid_t file_ = -1;
  hid_t links_ = -1;
};

}  // namespace cornu::test

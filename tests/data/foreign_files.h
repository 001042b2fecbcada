// SPDX-License-Identifier: Apache-2.0
// Files in third-party formats, built by hand for tests.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/io/archive.h"
#include "tests/data/support.h"

namespace cornu::testing {

inline std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return text;
}

// Returns a .npy file with this header text, used verbatim.
inline std::string npy_with(const std::string& header, const std::string& elements,
                            int version = 1) {
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         little_endian(header.size(), version == 1 ? 2 : 4) + header + elements;
}

inline std::string npy(const std::string& type, const std::string& shape,
                       const std::string& elements, bool fortran_order = false) {
  return npy_with("{'descr': '" + type + "', 'fortran_order': " +
                      (fortran_order ? "True" : "False") + ", 'shape': " + shape + ", }\n",
                  elements);
}

// Parts of pickles of protocol 2.
inline std::string pickled_int(int64_t value) {
  return "\x8a\x08" + little_endian(static_cast<uint64_t>(value), 8);
}
inline std::string pickled_str(const std::string& text) {
  return "X" + little_endian(text.size(), 4) + text;
}
inline std::string pickled_bytes(const std::string& text) {
  return "T" + little_endian(text.size(), 4) + text;
}
inline std::string pickled_ints(const std::vector<int64_t>& values) {
  std::string text = "](";
  for (const int64_t value : values) text += pickled_int(value);
  return text + "e";
}
inline std::string pickled_array(const std::string& type, char order,
                                 const std::vector<int64_t>& shape, const std::string& elements) {
  using namespace std::string_literals;
  std::string sizes = "(";
  for (const int64_t size : shape) sizes += pickled_int(size);
  const std::string dtype = "cnumpy\ndtype\n(" + pickled_bytes(type) + "K\0K\1tR(K\3"s +
                            pickled_bytes(std::string(1, order)) +
                            "NNNJ\xff\xff\xff\xffJ"
                            "\xff\xff\xff\xffK\0tb"s;
  return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85U\1btR(K\1"s + sizes +
         "t" + dtype + "\x89" + elements + "tb";
}
// Lists of different lengths as numpy.save writes them.
inline std::string npy_of_lists(const std::vector<std::vector<int64_t>>& lists) {
  std::string elements = "](";
  for (const auto& list : lists) elements += pickled_ints(list);
  const auto count = static_cast<int64_t>(lists.size());
  return npy("|O", "(" + std::to_string(count) + ",)",
             "\x80\2" + pickled_array("O8", '|', {count}, elements + "e") + ".");
}

// A member of a tar archive, and the end of an archive.
inline std::string tar_header(const std::string& name, uint64_t size, char type = '0',
                              const std::string& size_field = "") {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(100, 7, "0000644");
  const std::string octal = size_field.empty() ? fmt::format("{:011o}", size) : size_field;
  block.replace(124, octal.size(), octal);
  block[156] = type;
  block.replace(257, 8,
                std::string("ustar\0"
                            "00",
                            8));
  block.replace(148, 8, std::string(8, ' '));
  int64_t sum = 0;
  for (const char byte : block) sum += static_cast<uint8_t>(byte);
  block.replace(148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  return block;
}
inline std::string tar_member(const std::string& name, const std::string& content,
                              char type = '0') {
  return tar_header(name, content.size(), type) + content +
         std::string((512 - content.size() % 512) % 512, '\0');
}
inline std::string tar_end() { return std::string(1024, '\0'); }

inline void write_zip(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<ArchiveMember> members;
  for (const auto& [name, content] : files) {
    members.push_back({name, std::as_bytes(std::span(content)), true});
  }
  write_archive(path.string(), members);
}

}  // namespace cornu::testing

// SPDX-License-Identifier: Apache-2.0
// Costs of large datasets, before and in addition to their elements.
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "benchmarks/pipelines/alone.h"

namespace cornu::benchmarks {
namespace {

using data::Dataset;
using data::Element;

constexpr int64_t kFiles = 100'000;
constexpr int64_t kRecords = 100'000;

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Peak memory of the process since the last call, in bytes.
double peak_memory() {
  double kilobytes = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) kilobytes = std::stod(line.substr(6));
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return kilobytes * 1024;
}

// Bytes per element of shuffling all rows in memory, and those of the row numbers.
void shuffle_memory() {
  constexpr int64_t kRows = 20'000'000;
  const auto batches =
      Dataset::from_tensor_slices(ops::zeros({kRows}, DType::UInt8)).shuffle(kRows).batch(64);
  peak_memory();
  const double before = peak_memory();
  auto iterator = batches.iterator();
  Element element;
  iterator.next(element);
  fmt::print("{:.2f}\n", (peak_memory() - before) / static_cast<double>(kRows));
}

void make_pictures(const std::filesystem::path& folder) {
  PhiloxEngine engine(1);
  Tensor picture = Tensor::empty({32, 32, 3}, DType::UInt8);
  for (uint8_t& value : picture.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
  for (int64_t i = 0; i < kFiles; ++i) {
    const auto path = folder / std::to_string(i % 10) / fmt::format("{:06}.jpg", i);
    if (i < 10) {
      std::filesystem::create_directories(path.parent_path());
      data::save_img(path, picture);
    } else {
      std::filesystem::copy_file(folder / std::to_string(i % 10) / fmt::format("{:06}.jpg", i % 10),
                                 path);
    }
  }
}

void make_records(const std::filesystem::path& path) {
  data::TFRecordWriter writer(path);
  PhiloxEngine engine(2);
  for (int64_t i = 0; i < kRecords; ++i) {
    std::string bytes(784, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine());
    writer.write(
        data::Example({{"x", Tensor::scalar(bytes)}, {"y", Tensor::scalar(i)}}).serialize());
  }
  writer.close();
}

// Seconds to read nine tenths of a pass, to restore the position there, and the ratio of the second
// to the first.
void print_restoring(const Dataset& batches, int64_t number) {
  auto first = batches.iterator();
  Element element;
  const double read = seconds([&] {
    for (int64_t i = 0; i < number; ++i) first.next(element);
  });
  const Json position = first.save();
  auto second = batches.iterator();
  const double restored = seconds([&] { second.restore(position); });
  fmt::print("{:.4f} {:.5f} {:.5f} ", read, restored, restored / read);
}

void folder_of_files(const std::filesystem::path& folder) {
  Dataset pictures = Dataset::range(0);
  Element element;
  const double start = seconds([&] {
    pictures = data::image_dataset_from_directory(
        folder, {.batch_size = 64, .image_size = {32, 32}, .seed = 1, .verbose = false});
    auto iterator = pictures.iterator();
    iterator.next(element);
  });
  fmt::print("{:.3f} ", start);
  print_restoring(pictures, kFiles / 64 * 9 / 10);
  fmt::print("\n");
}

void records(const std::filesystem::path& path) {
  const data::ExampleParser parser(
      {{"x", data::FixedLenFeature{{}, "string"}}, {"y", data::FixedLenFeature{{}, "int64"}}});
  const auto batches = [&](int64_t buffer) {
    return data::TFRecordDataset(path.string()).shuffle(buffer, {.seed = 1}).batch(64).map(parser);
  };
  print_restoring(batches(1000), kRecords / 64 * 9 / 10);
  print_restoring(batches(kRecords / 10), kRecords / 64 * 9 / 10);
  fmt::print("\n");
}

}  // namespace

std::function<void()> limit(const std::string& work, const std::string& folder) {
  if (work == "shuffle_memory") return shuffle_memory;
  if (work == "folder") {
    make_pictures(folder);
    return [folder] { folder_of_files(folder); };
  }
  if (work == "records") {
    const auto path = std::filesystem::path(folder) / "many.tfrecord";
    make_records(path);
    return [path] { records(path); };
  }
  return nullptr;
}

}  // namespace cornu::benchmarks

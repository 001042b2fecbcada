// SPDX-License-Identifier: Apache-2.0
// Input pipelines: prints "ready", then runs one epoch for each line read, and prints its wall time
// and the CPU time of all threads, in microseconds per element.
//   bench_pipelines make FOLDER    writes the files read by the pipelines and their peers
//   bench_pipelines WORK FOLDER
//   bench_pipelines map_scaling|cnn_step    see alone.h; reads no files
#include <cornu/cornu.h>
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "benchmarks/pipelines/alone.h"

using namespace cornu;
using data::Dataset;
using Clock = std::chrono::steady_clock;
using Folder = std::filesystem::path;

namespace {

constexpr int64_t kRows = 60'000;
constexpr int64_t kPictures = 800;
constexpr int64_t kRecords = 20'000;
constexpr int64_t kColumns = 20;
constexpr int64_t kWords = 1000;  // known words; there are as many unknown ones
constexpr int64_t kParts = 8;     // files of lines
constexpr int64_t kPartLines = 10'000;

double cpu_microseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Smooth colors, which compress like photographs.
void draw_pictures(const Folder& folder) {
  for (int64_t i = 0; i < kPictures; ++i) {
    PhiloxEngine engine(static_cast<uint64_t>(i));
    Tensor coarse = Tensor::empty({12, 16, 3}, DType::UInt8);
    for (uint8_t& value : coarse.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
    const Tensor picture = data::resize_image(coarse, {375, 500}, {.interpolation = "bicubic"});
    const Folder path = folder / std::to_string(i % 2) / fmt::format("{}.jpg", i);
    std::filesystem::create_directories(path.parent_path());
    data::save_img(path, picture, {.scale = false, .quality = 90});
  }
}

void write_records(const Folder& path) {
  data::TFRecordWriter writer(path);
  PhiloxEngine engine(2);
  for (int64_t i = 0; i < kRecords; ++i) {
    std::string bytes(784, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine());
    const data::Example example = {{"x", Tensor::scalar(bytes)}, {"y", Tensor::scalar(i % 10)}};
    writer.write(example.serialize());
  }
  writer.close();
}

void write_table(const Folder& path) {
  std::ofstream out(path);
  for (int64_t c = 0; c < kColumns; ++c) out << (c ? "," : "") << "c" << c;
  PhiloxEngine engine(3);
  for (int64_t i = 0; i < kRecords; ++i) {
    for (int64_t c = 0; c < kColumns; ++c) {
      out << (c ? ',' : '\n') << fmt::format("{:.6f}", engine.uniform() * 100);
    }
  }
  out << '\n';
}

void write_text(const Folder& path, int64_t lines, uint64_t seed) {
  std::ofstream out(path);
  PhiloxEngine engine(seed);
  for (int64_t i = 0; i < lines; ++i) {
    const uint64_t words = 5 + engine.below(26);
    for (uint64_t k = 0; k < words; ++k)
      out << (k ? " " : "") << "word" << engine.below(2 * kWords);
    out << '\n';
  }
}

void make_files(const Folder& folder) {
  draw_pictures(folder / "pictures");
  write_records(folder / "records.tfrecord");
  write_table(folder / "table.csv");
  write_text(folder / "lines.txt", kRecords, 4);
  std::filesystem::create_directories(folder / "parts");
  for (int64_t i = 0; i < kParts; ++i) {
    write_text(folder / "parts" / fmt::format("{}.txt", i), kPartLines,
               static_cast<uint64_t>(5 + i));
  }
}

// As many images and labels as in MNIST, in memory.
Dataset rows(DType dtype) {
  Tensor images = Tensor::empty({kRows, 28, 28}, DType::UInt8);
  PhiloxEngine engine(1);
  for (uint8_t& value : images.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
  Tensor labels = Tensor::empty({kRows}, DType::Int64);
  for (int64_t& label : labels.mutable_data<int64_t>()) label = static_cast<int64_t>(engine() % 10);
  return Dataset::from_tensor_slices({ops::cast(images, dtype), labels}).shuffle(kRows);
}

Dataset pictures(const Folder& folder, int64_t dct_scale) {
  return data::image_dataset_from_directory(
      folder / "pictures",
      {.image_size = {160, 160}, .shuffle = false, .verbose = false, .dct_scale = dct_scale});
}

// Word numbers, padded with 0 at the end of a line.
Dataset tokens(const Folder& path) {
  std::vector<std::string> words;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < kWords; ++i) {
    words.push_back(fmt::format("word{}", i));
    numbers.push_back(i + 2);
  }
  const data::StaticHashTable table(Tensor::from(words), Tensor::from(numbers), int64_t{1});
  const auto look_up = [table](const Tensor& line) {
    return table.lookup(data::strings::split(line));
  };
  return data::TextLineDataset(path)
      .map(look_up, {.num_parallel_calls = data::kAutotune})
      .padded_batch(64)
      .prefetch(2);
}

// Lines of all files: either interleaved from four files at a time, or file by file through a
// shuffle buffer.
Dataset lines(const std::string& work, const Folder& folder) {
  const Dataset paths = Dataset::list_files((folder / "*.txt").string(), {.shuffle = false});
  if (work == "shuffle") return data::TextLineDataset(paths).shuffle(10'000).batch(64).prefetch(2);
  const auto open = [](const Tensor& path) {
    return data::TextLineDataset(path.item<std::string>());
  };
  return paths.interleave(open, {.cycle_length = 4, .num_parallel_calls = data::kAutotune})
      .batch(64)
      .prefetch(2);
}

Dataset make(const std::string& work, const Folder& folder) {
  if (work == "bytes") return rows(DType::UInt8).batch(64).prefetch(2);
  if (work == "floats") return rows(DType::Float32).batch(64).prefetch(2);
  if (work == "map") {
    const auto scaled = [](const Tensor& x, const Tensor& y) {
      return std::pair(ops::cast(x, DType::Float32) / 255.0f, y);
    };
    return rows(DType::UInt8)
        .map(scaled, {.num_parallel_calls = data::kAutotune})
        .batch(64)
        .prefetch(2);
  }
  if (work == "jpeg") return pictures(folder, 1);
  if (work == "jpeg_dct") return pictures(folder, 2);
  const data::ExampleParser parser(
      {{"x", data::FixedLenFeature{{}, "string"}}, {"y", data::FixedLenFeature{{}, "int64"}}});
  const Dataset records = data::TFRecordDataset(folder / "records.tfrecord");
  if (work == "tfrecord") {
    return records.map(parser, {.num_parallel_calls = data::kAutotune}).batch(64).prefetch(2);
  }
  if (work == "tfrecord_batches") {
    return records.batch(64).map(parser, {.num_parallel_calls = data::kAutotune}).prefetch(2);
  }
  if (work == "csv") {
    return data::make_csv_dataset((folder / "table.csv").string(), 64,
                                  {.num_epochs = 1, .shuffle = false});
  }
  if (work == "text") return tokens(folder / "lines.txt");
  if (work == "interleave" || work == "shuffle") return lines(work, folder / "parts");
  raise<InvalidArgument>("Unknown work '{}'.", work);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto round = argc == 2   ? benchmarks::alone(argv[1])
                     : argc == 3 ? benchmarks::limit(argv[1], argv[2])
                                 : nullptr;
  if (round) {
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      round();
      std::fflush(stdout);
    }
    return 0;
  }
  if (argc != 3) {
    std::cerr << "usage: bench_pipelines make|WORK|folder|records|shuffle_memory FOLDER, "
                 "or map_scaling|cnn_step\n";
    return 2;
  }
  if (std::string(argv[1]) == "make") {
    make_files(argv[2]);
    return 0;
  }
  const Dataset dataset = make(argv[1], argv[2]);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = Clock::now();
    const double cpu = cpu_microseconds();
    int64_t elements = 0;
    for (const data::Element& batch : dataset) elements += batch.tensors()[0].dim(0);
    const std::chrono::duration<double, std::micro> wall = Clock::now() - start;
    const auto count = static_cast<double>(elements);
    fmt::print("{:.5f} {:.5f}\n", wall.count() / count, (cpu_microseconds() - cpu) / count);
    std::fflush(stdout);
  }
  return 0;
} catch (const Error& error) {
  std::cerr << "bench_pipelines: " << error.what() << '\n';
  return 1;
}

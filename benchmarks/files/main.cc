// SPDX-License-Identifier: Apache-2.0
// A model of dense layers of a given size in megabytes, saved as FOLDER/model.keras and loaded from
// there, next to raw files of the same size that are written and read directly. Prints "ready",
// then for every line read, in milliseconds, alternately:
//   - a file written and fsynced, the model saved,
//   - the file read, the model loaded, both in the page cache; then neither in it,
// and the growth of the resident set's peak while the model is saved, then loaded, relative to the
// size of its weights. Driven by compare.py.
//   bench_files FOLDER MEGABYTES
#include <cornu/cornu.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

using namespace cornu;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int64_t kWidth = 1024;  // a kernel has 4 MiB

double milliseconds(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// In kibibytes, as in /proc/self/status.
double memory(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != what + ":") continue;
    double value = 0;
    status >> value;
    return value;
  }
  return 0;
}

void give_back_memory() {
  release_cached_host_memory();
  malloc_trim(0);
}

// Maximum growth of the resident set in bytes.
double growth(const std::function<void()>& work) {
  give_back_memory();
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
  const double before = memory("VmRSS");
  work();
  return (memory("VmHWM") - before) * 1024;
}

class Files {
 public:
  Files(const std::string& folder, int64_t megabytes)
      : model_path_(folder + "/model.keras"),
        plain_path_(folder + "/plain"),
        model_({Input({.shape = {kWidth}})}) {
    for (int64_t i = 0; i < megabytes / 4; ++i) model_.add(layers::Dense({.units = kWidth}));
    model_.save(model_path_);
    size_ = std::filesystem::file_size(model_path_);
    content_.reset(new char[size_]);
    std::ifstream(model_path_, std::ios::binary).read(content_.get(), static_cast<long>(size_));
    write_plain();
  }

  void measure() {
    const double written = milliseconds([&] { write_plain(); });
    const double saved = milliseconds([&] { model_.save(model_path_); });
    const double read = milliseconds([&] { read_plain(); });
    const double loaded = load_time();
    drop_from_cache();
    const double read_cold = milliseconds([&] { read_plain(); });
    const double loaded_cold = load_time();
    const double weights = static_cast<double>(4 * model_.count_params());
    const double saving = growth([&] { model_.save(model_path_); }) / weights;
    const double loading = growth([&] { loaded_.emplace(load_model(model_path_)); }) / weights;
    loaded_.reset();
    fmt::print("{} {} {} {} {} {} {} {}\n", written, saved, read, loaded, read_cold, loaded_cold,
               saving, loading);
    std::fflush(stdout);
  }

 private:
  double load_time() {
    give_back_memory();  // both start without memory
    const double time = milliseconds([&] { loaded_.emplace(load_model(model_path_)); });
    loaded_.reset();
    return time;
  }

  void write_plain() const {
    const int file = open(plain_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (size_t done = 0; done < size_;) {
      const ssize_t count = write(file, content_.get() + done, size_ - done);
      if (count <= 0) std::abort();
      done += static_cast<size_t>(count);
    }
    if (fsync(file) != 0) std::abort();
    close(file);
  }

  void read_plain() const {
    give_back_memory();
    const std::unique_ptr<char[]> memory(new char[size_]);
    const int file = open(plain_path_.c_str(), O_RDONLY | O_CLOEXEC);
    for (size_t done = 0; done < size_;) {
      const ssize_t count = read(file, memory.get() + done, size_ - done);
      if (count <= 0) std::abort();
      done += static_cast<size_t>(count);
    }
    close(file);
  }

  void drop_from_cache() const {
    for (const std::string& path : {plain_path_, model_path_}) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fsync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) std::abort();
      close(file);
    }
  }

  std::string model_path_, plain_path_;
  Sequential model_;
  std::optional<Model> loaded_;
  size_t size_ = 0;
  std::unique_ptr<char[]> content_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_files FOLDER MEGABYTES\n");
    return 2;
  }
  try {
    Files files(argv[1], std::atoll(argv[2]));
    files.measure();
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) files.measure();
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

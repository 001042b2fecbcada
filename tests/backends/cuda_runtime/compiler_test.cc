// SPDX-License-Identifier: Apache-2.0
// The CUDA compiler and the folder in which it caches compiled kernels. Needs no GPU.
#include "framework/backends/cuda_runtime/compiler.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "framework/backends/cuda_runtime/kernel_cache.h"
#include "framework/core/error.h"
#include "tests/support/files.h"

using namespace cornu;
using namespace cornu::cuda;
using testing::EnvironmentScope;
using testing::message_of;
using testing::names_in;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;
namespace fs = std::filesystem;

namespace {

// A kernel that nobody has compiled before, in a cache of its own.
KernelCode kernel(const std::string& name) {
  return {name, fmt::format("extern \"C\" __global__ void {}(f32* out, i64 size) {{\n"
                            "  const i64 i = thread_number();\n"
                            "  if (i < size) out[i] = widen(narrow<bf16>((f32)i));\n"
                            "}}\n",
                            name)};
}

// Sets the folder of the compiler's cache during its lifetime.
EnvironmentScope cache_in(const fs::path& folder) { return {"CORNU_CUDA_CACHE", folder.string()}; }

bool is_machine_code(const std::vector<char>& image) {
  return image.size() > 4 && std::string_view(image.data(), 4) ==
                                 "\x7f"
                                 "ELF";
}

size_t compilations_of(const KernelCode& code, int major = 9) {
  const size_t before = compiled_count();
  CHECK(is_machine_code(compile_to_cubin(code, major, 0)));
  return compiled_count() - before;
}

}  // namespace

TEST_CASE("machine code is made once for each kind of GPU, and kept on disk") {
  const TempFolder folder;
  const EnvironmentScope cache = cache_in(folder.path() / "new" / "cache");
  const KernelCode code = kernel("kept");
  CHECK(compilations_of(code) == 1);
  CHECK(compilations_of(code) == 0);
  CHECK(compilations_of(code, 8) == 1);
  CHECK(compilations_of(code, 10) == 1);
  CHECK(compilations_of(code, 8) == 0);
  CHECK(names_in(folder.path() / "new" / "cache").size() == 3);
  KernelCode other = code;
  other.text += "// another text\n";
  CHECK(compilations_of(other) == 1);
  CHECK(compile_to_cubin(code, 9, 0) != compile_to_cubin(code, 10, 0));
}

TEST_CASE("GPUs that the compiler doesn't know get PTX, or the code of their generation") {
  const TempFolder folder;
  const EnvironmentScope cache = cache_in(folder.path());
  const std::vector<char> ptx = compile_to_cubin(kernel("future"), 99, 0);
  CHECK(ptx.back() == '\0');
  CHECK(std::string(ptx.data()).find(".entry future") != std::string::npos);
  CHECK(is_machine_code(compile_to_cubin(kernel("variant"), 8, 9)));
  CHECK(message_of<Internal>([&] { compile_to_cubin(kernel("old"), 3, 0); }) ==
        "The CUDA compiler makes no code for compute capability 3.0.");
}

TEST_CASE("damaged files of compiled kernels are made anew") {
  const TempFolder folder;
  const EnvironmentScope cache = cache_in(folder.path());
  const KernelCode code = kernel("damaged");
  const std::vector<char> image = compile_to_cubin(code, 9, 0);
  const fs::path file = folder / names_in(folder.path()).at(0);
  const std::string whole = read_file(file);
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string& text :
       {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() - 1), whole + "x", flipped,
        std::string("no kernel at all, but long")}) {
    CAPTURE(text.size());
    write_file(file, text);
    CHECK(compilations_of(code) == 1);
    CHECK(read_file(file) == whole);
    CHECK(compile_to_cubin(code, 9, 0) == image);
  }
  fs::remove(file);
  fs::create_directory(file);  // can't be replaced by a file
  CHECK(compilations_of(code) == 1);
  CHECK(compilations_of(code) == 1);
}

TEST_CASE("without a folder to write to, kernels are compiled each time") {
  const TempFolder folder;
  const fs::path file = folder.path() / "file";
  write_file(file, "not a folder");
  for (const fs::path& place : {fs::path(), file, file / "below", fs::path("/proc/cornu")}) {
    CAPTURE(place.string());
    const EnvironmentScope cache = cache_in(place);
    const KernelCode code = kernel("unwritten");
    CHECK(compilations_of(code) == 1);
    CHECK(compilations_of(code) == 1);
  }
  CHECK(read_file(file) == "not a folder");
}

TEST_CASE("two processes and several threads share a folder") {
  const TempFolder folder;
  const EnvironmentScope cache = cache_in(folder.path());
  std::vector<KernelCode> codes;
  for (int i = 0; i < 4; ++i) codes.push_back(kernel("shared" + std::to_string(i)));
  const auto compile_each = [&] {
    bool good = true;
    for (const KernelCode& code : codes) {
      good = good && is_machine_code(compile_to_cubin(code, 9, 0));
    }
    return good;
  };
  const pid_t child = fork();
  if (child == 0) _exit(compile_each() ? 0 : 1);
  REQUIRE(child > 0);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { CHECK(compile_each()); });
  threads.clear();
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(names_in(folder.path()).size() == codes.size());  // and no half-written files
  for (const KernelCode& code : codes) CHECK(compilations_of(code) == 0);
}

TEST_CASE("a full cache loses what was used least recently, and nothing else") {
  const TempFolder folder;
  const KernelCache cache(folder.path(), 4000);
  const auto name_of = [](char digit) { return std::string(32, digit); };
  const auto made = fs::file_time_type::clock::now() - std::chrono::hours(24 * 30);
  for (const char digit : {'1', '2', '3', '4', 'a'}) {
    cache.write(name_of(digit), std::vector<char>(900, digit));
    fs::last_write_time(folder / (name_of(digit) + ".bin"), made + std::chrono::hours(digit));
  }
  write_file(folder / (name_of('5') + ".bin.77.0.tmp"), std::string(900, 'x'));  // left behind
  fs::last_write_time(folder / (name_of('5') + ".bin.77.0.tmp"), made);
  write_file(folder / "somebody's.bin", std::string(9000, 'x'));
  fs::last_write_time(folder / "somebody's.bin", made - std::chrono::hours(1));
  CHECK(cache.read(name_of('1')).has_value());  // in use again
  cache.trim();
  CHECK(names_in(folder.path()) ==
        std::vector<std::string>{name_of('1') + ".bin", name_of('4') + ".bin",
                                 name_of('a') + ".bin", "somebody's.bin"});
  CHECK(cache.read(name_of('a')) == std::vector<char>(900, 'a'));
  cache.trim();
  CHECK(names_in(folder.path()).size() == 4);
  KernelCache(folder / "missing", 0).trim();
  CHECK_FALSE(fs::exists(folder / "missing"));
}

TEST_CASE("text that isn't CUDA is an error that names kernel, line and fault") {
  const TempFolder folder;
  const EnvironmentScope cache = cache_in(folder.path());
  const std::string text = message_of<Internal>([] {
    compile_to_cubin({"wrong", "\nextern \"C\" __global__ void wrong() { nowhere = 1; }\n"}, 9, 0);
  });
  CHECK(text.starts_with("Kernel wrong doesn't compile for sm_90 (NVRTC_ERROR_COMPILATION):\n"));
  CHECK(text.find("wrong.cu(2): error: identifier \"nowhere\" is undefined") != std::string::npos);
  CHECK(names_in(folder.path()).empty());
  const KernelCode good = kernel("good");
  const KernelCode bad = {"bad", "int"};
  CHECK_THROWS_AS(compile_all(std::vector<const KernelCode*>{&good, &bad, &good}, 9, 0), Internal);
}

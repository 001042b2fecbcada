// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/kernel_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "framework/core/error.h"
#include "framework/core/fnv.h"

extern char** environ;

namespace cornu::cuda::simulated {
namespace {

namespace fs = std::filesystem;

std::string compiler() {
  if (const char* own = std::getenv("CXX_FOR_SIMULATOR"); own && *own) return own;
#ifdef CORNU_SIMULATOR_CXX
  return CORNU_SIMULATOR_CXX;
#else
  return "g++";
#endif
}

// The barriers of a thread must never be merged with other code; calls through pointers aren't. The
// C library's functions are already in the process that loads the kernels: linking with it would
// take an eighth of the compile time.
constexpr const char* kOptions[] = {"-O1",
                                    "-std=c++17",
                                    "-shared",
                                    "-nostdlib",
                                    "-fPIC",
                                    "-fno-strict-aliasing",
                                    "-ffp-contract=off",
                                    "-fwrapv",
                                    "-fvisibility=hidden",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-w",
                                    "-x",
                                    "c++"};

// The sanitizers' calls, which kernel_text.cc defines. The lines are for addr2line.
constexpr const char* kCheckedOptions[] = {"-fsanitize=thread,alignment", "-g1"};

std::vector<std::string> options_for(bool checked) {
  std::vector<std::string> options(std::begin(kOptions), std::end(kOptions));
  if (checked)
    options.insert(options.end(), std::begin(kCheckedOptions), std::end(kCheckedOptions));
  return options;
}

const fs::path& cache_folder() {
  static const fs::path folder = [] {
    const char* own = std::getenv("CORNU_SIMULATOR_CACHE");
    const fs::path path =
        own && *own ? fs::path(own)
                    : fs::temp_directory_path() / fmt::format("cornu-simulator-{}", getuid());
    fs::create_directories(path);
    return path;
  }();
  return folder;
}

std::string hash_of(const std::string& text) {
  const Word128 hash = Fnv<Word128>().add(text).value();
  return fmt::format("{:016x}{:016x}", high_word(hash), low_word(hash));
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Runs a program with its messages redirected to a file; returns its exit status.
int run(const std::vector<std::string>& command, const fs::path& messages) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  check<Internal>(error == 0, "Simulator: {} can't be run.", command[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Returns the shared object for a text. Processes that build the same one concurrently write
// separate files; the last one to rename its file wins.
fs::path shared_object(const std::string& name, const std::string& text, bool checked) {
  const std::vector<std::string> options = options_for(checked);
  std::string recipe = compiler();
  for (const std::string& option : options) recipe += " " + option;
  const fs::path made = cache_folder() / (hash_of(recipe + text) + ".so");
  if (fs::exists(made)) return made;
  static std::atomic<uint64_t> number = 0;
  const std::string own = fmt::format("{}.{}.{}", made.native(), getpid(), number++);
  const fs::path source = own + ".cc";
  const fs::path messages = own + ".txt";
  std::ofstream(source, std::ios::binary) << text;
  std::vector<std::string> command = {compiler()};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {source.native(), "-o", own});
  const bool works = run(command, messages) == 0 && fs::exists(own);
  const std::string said = text_of(messages);
  fs::remove(messages);
  if (!works) {
    const fs::path kept = fs::path(made).replace_extension(".cc");
    fs::rename(source, kept);
    raise<Internal>("Kernel {} doesn't compile; its text is in {}.\n{}", name, kept.native(), said);
  }
  fs::remove(source);
  fs::rename(own, made);
  return made;
}

// If CORNU_KERNEL_TEXTS is set, writes each kernel's text to that folder for the CUDA compiler.
void keep_text(const KernelCode& code) {
  const char* folder = std::getenv("CORNU_KERNEL_TEXTS");
  if (folder == nullptr || *folder == '\0') return;
  const fs::path file = fs::path(folder) / (code.name + ".cu");
  if (fs::exists(file)) return;
  const std::string own = fmt::format("{}.{}.tmp", file.native(), getpid());
  std::ofstream(own, std::ios::binary) << code.text;
  fs::rename(own, file);
}

CompiledKernel load(const KernelCode& code, bool checked) {
  keep_text(code);
  const fs::path file = shared_object(code.name, host_text(code.name, code.text), checked);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  check<Internal>(library != nullptr, "Kernel {} can't be loaded: {}", code.name,
                  library ? "" : dlerror());
  const auto exports = reinterpret_cast<KernelExports (*)()>(dlsym(library, "cornu_exports"));
  return {code.name, exports(), has_barriers(code.text)};
}

}  // namespace

std::vector<CompiledKernel> compile_kernels(std::span<const KernelCode* const> codes,
                                            bool checked) {
  std::vector<CompiledKernel> kernels(codes.size());
  std::vector<std::exception_ptr> errors(codes.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < codes.size(); i = next++) {
      try {
        kernels[i] = load(*codes[i], checked);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> helpers;
  const size_t threads =
      std::min<size_t>(codes.size(), std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return kernels;
}

}  // namespace cornu::cuda::simulated

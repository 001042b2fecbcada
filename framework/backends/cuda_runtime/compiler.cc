// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/compiler.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "framework/backends/cuda_runtime/kernel_cache.h"
#include "framework/backends/cuda_runtime/toolkit.h"
#include "framework/core/error.h"
#include "framework/core/fnv.h"

namespace cornu::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrelude =
#include <cuda_prelude.inc>
    ;
constexpr const char* kOptions[] = {"--std=c++17", "-default-device"};

constexpr uint64_t kWritesPerTrim = 256;  // of a process; the first is followed by one, too

std::atomic<size_t> compilations = 0;

void check_nvrtc(nvrtcResult result, const char* doing) {
  check<Internal>(result == NVRTC_SUCCESS, "The CUDA compiler failed when {}: {}", doing,
                  nvrtcGetErrorString(result));
}

// Digits that stand for all parts, including their boundaries.
std::string digest_of(std::span<const std::string_view> parts) {
  Fnv<Word128> hash;
  for (const std::string_view part : parts) hash.add(part).add(uint64_t{part.size()});
  return fmt::format("{:016x}{:016x}", high_word(hash.value()), low_word(hash.value()));
}

std::pair<int, int> nvrtc_version() {
  load_compiler();
  int major = 0;
  int minor = 0;
  check_nvrtc(nvrtcVersion(&major, &minor), "asking for its version");
  return {major, minor};
}

// The target architecture: "sm_90", or "compute_120" if the driver has to generate the machine
// code.
std::string architecture_for(int major, int minor) {
  load_compiler();
  int count = 0;
  check_nvrtc(nvrtcGetNumSupportedArchs(&count), "counting the GPUs that it knows");
  std::vector<int> known(static_cast<size_t>(count));
  check_nvrtc(nvrtcGetSupportedArchs(known.data()), "asking for the GPUs that it knows");
  const int wanted = major * 10 + minor;
  int best = 0;
  for (const int one : known) {
    if (one <= wanted) best = std::max(best, one);
  }
  check<Internal>(best > 0, "The CUDA compiler makes no code for compute capability {}.{}.", major,
                  minor);
  return fmt::format("{}_{}", best / 10 == major ? "sm" : "compute", best);
}

// ---- the cache on disk ----

std::optional<fs::path> cache_folder() {
  if (const char* own = std::getenv("CORNU_CUDA_CACHE")) {
    if (*own == '\0') return std::nullopt;
    return fs::path(own);
  }
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "cornu" / "cuda";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "cornu" / "cuda";
  }
  return std::nullopt;
}

// ---- NVRTC ----

class Program {
 public:
  Program(const std::string& text, const std::string& name) {
    check_nvrtc(nvrtcCreateProgram(&handle_, text.c_str(), name.c_str(), 0, nullptr, nullptr),
                "taking a program");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtcDestroyProgram(&handle_); }

  nvrtcResult compile(const std::string& architecture) {
    const std::string target = "--gpu-architecture=" + architecture;
    std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
    options.push_back(target.c_str());
    return nvrtcCompileProgram(handle_, static_cast<int>(options.size()), options.data());
  }

  std::string log() const {
    size_t size = 0;
    check_nvrtc(nvrtcGetProgramLogSize(handle_, &size), "asking for its messages");
    std::string text(size, '\0');
    if (size > 0) check_nvrtc(nvrtcGetProgramLog(handle_, text.data()), "asking for its messages");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  std::vector<char> image(bool ptx) const {
    size_t size = 0;
    check_nvrtc((ptx ? nvrtcGetPTXSize : nvrtcGetCUBINSize)(handle_, &size), "asking for the code");
    std::vector<char> image(size);
    check_nvrtc((ptx ? nvrtcGetPTX : nvrtcGetCUBIN)(handle_, image.data()), "asking for the code");
    return image;
  }

 private:
  nvrtcProgram handle_ = nullptr;
};

std::vector<char> compile(const KernelCode& code, const std::string& architecture) {
  ++compilations;
  const std::string file = code.name + ".cu";
  Program program(fmt::format("{}\n#line 1 \"{}\"\n{}", kPrelude, file, code.text), file);
  const nvrtcResult result = program.compile(architecture);
  check<Internal>(result == NVRTC_SUCCESS, "Kernel {} doesn't compile for {} ({}):\n{}", code.name,
                  architecture, nvrtcGetErrorString(result), program.log());
  return program.image(architecture.starts_with("compute"));
}

}  // namespace

std::vector<char> compile_to_cubin(const KernelCode& code, int major, int minor) {
  const std::string architecture = architecture_for(major, minor);
  const std::optional<fs::path> folder = cache_folder();
  if (!folder) return compile(code, architecture);
  const std::string version = compiler_version();
  std::vector<std::string_view> parts = {code.name, code.text, kPrelude, architecture, version};
  parts.insert(parts.end(), std::begin(kOptions), std::end(kOptions));
  const std::string name = digest_of(parts);
  const KernelCache cache(*folder);
  if (auto image = cache.read(name)) return std::move(*image);
  std::vector<char> image = compile(code, architecture);
  cache.write(name, image);
  static std::atomic<uint64_t> written = 0;
  if (written++ % kWritesPerTrim == 0) cache.trim();
  return image;
}

std::vector<std::vector<char>> compile_all(std::span<const KernelCode* const> codes, int major,
                                           int minor) {
  std::vector<std::vector<char>> images(codes.size());
  std::vector<std::exception_ptr> errors(codes.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < codes.size(); i = next++) {
      try {
        images[i] = compile_to_cubin(*codes[i], major, minor);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  const size_t threads =
      std::min<size_t>(codes.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return images;
}

size_t compiled_count() { return compilations; }

std::string compiler_version() {
  const auto [major, minor] = nvrtc_version();
  return fmt::format("NVRTC {}.{}", major, minor);
}

}  // namespace cornu::cuda

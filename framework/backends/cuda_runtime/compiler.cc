// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/compiler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>

#include "framework/backends/cuda_runtime/toolkit.h"
#include "framework/core/error.h"
#include "framework/core/fnv.h"

namespace cornu::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrelude =
#include <cuda_prelude.inc>
    ;
constexpr std::string_view kMagic = "CORNUCU1";
constexpr const char* kOptions[] = {"--std=c++17", "-default-device"};

std::atomic<size_t> compilations = 0;

void check_nvrtc(nvrtcResult result, const char* doing) {
  check<Internal>(result == NVRTC_SUCCESS, "The CUDA compiler failed when {}: {}", doing,
                  nvrtcGetErrorString(result));
}

// Hash of all parts, including their boundaries.
Word128 hash_of(std::span<const std::string_view> parts) {
  Fnv<Word128> hash;
  for (const std::string_view part : parts) hash.add(part).add(uint64_t{part.size()});
  return hash.value();
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

struct Header {
  char magic[8];
  uint64_t bytes;
  uint64_t checksum;
};

uint64_t checksum_of(const std::vector<char>& image) {
  const std::string_view bytes(image.data(), image.size());
  return low_word(hash_of({&bytes, 1}));
}

// Returns nullopt when the file doesn't exist or is damaged.
std::optional<std::vector<char>> read_image(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const std::streamoff size = file.tellg();
  Header header;
  if (size <= static_cast<std::streamoff>(sizeof(header))) return std::nullopt;
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(size) - sizeof(header);
  if (kMagic != std::string_view(header.magic, sizeof(header.magic)) || header.bytes != bytes) {
    return std::nullopt;
  }
  std::vector<char> image(bytes);
  if (!file.read(image.data(), static_cast<std::streamsize>(bytes))) return std::nullopt;
  if (checksum_of(image) != header.checksum) return std::nullopt;
  return image;
}

// Other processes see either the complete file or none. A read-only folder isn't an error: the next
// process will compile again.
void write_image(const fs::path& path, const std::vector<char>& image) {
  static std::atomic<uint64_t> number = 0;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  fs::path scratch = path;
  scratch += fmt::format(".{}.{}.tmp", getpid(), number++);
  Header header = {{}, image.size(), checksum_of(image)};
  std::memcpy(header.magic, kMagic.data(), sizeof(header.magic));
  bool written = false;
  {
    std::ofstream file(scratch, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.write(image.data(), static_cast<std::streamsize>(image.size()));
    file.close();
    written = file.good();
  }
  if (written) fs::rename(scratch, path, error);
  if (!written || error) fs::remove(scratch, error);
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
  const Word128 hash = hash_of(parts);
  const fs::path path =
      *folder / fmt::format("{:016x}{:016x}.bin", high_word(hash), low_word(hash));
  if (auto image = read_image(path)) return std::move(*image);
  std::vector<char> image = compile(code, architecture);
  write_image(path, image);
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

// SPDX-License-Identifier: Apache-2.0
// compile_kernels FOLDER CAPABILITY...: compiles the kernels whose sources a simulated GPU has left
// in the folder ($CORNU_KERNEL_TEXTS), each as NAME.cu, for GPUs of each compute capability (9.0).
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "framework/backends/cuda_runtime/compiler.h"
#include "framework/core/error.h"

namespace {

using namespace cornu;
using namespace cornu::cuda;

std::vector<KernelCode> codes_of(const std::filesystem::path& folder) {
  std::vector<KernelCode> codes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cu") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    codes.push_back({entry.path().stem(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(codes, {}, &KernelCode::name);
  return codes;
}

void compile_for(std::string_view capability, const std::vector<KernelCode>& codes) {
  int major = 0;
  int minor = 0;
  const bool is_number = std::sscanf(std::string(capability).c_str(), "%d.%d", &major, &minor) == 2;
  check<InvalidArgument>(is_number, "'{}' is no compute capability, expected one such as 9.0.",
                         capability);
  std::vector<const KernelCode*> each;
  for (const KernelCode& code : codes) each.push_back(&code);
  const size_t before = compiled_count();
  compile_all(each, major, minor);
  fmt::print("{} kernels for compute capability {}, {} of them compiled now\n", codes.size(),
             capability, compiled_count() - before);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check<InvalidArgument>(argc > 2, "usage: compile_kernels FOLDER CAPABILITY...");
    const std::vector<KernelCode> codes = codes_of(argv[1]);
    check<NotFound>(!codes.empty(), "{}: there are no kernels.", argv[1]);
    for (int i = 2; i < argc; ++i) compile_for(argv[i], codes);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

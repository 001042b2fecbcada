// SPDX-License-Identifier: Apache-2.0
// ONNX files: loads and prints the model.
#include <cornu/cornu.h>

#include "framework/io/atomic_file.h"
#include "framework/train/console/summary.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  static const std::string path = fuzz::scratch_file(".onnx");
  write_file_atomically(path, fuzz::text_of(data, size));
  return fuzz::attempt([&] {
    clear_session();
    format_summary(summarize(load_model(path)), {}, 100);
  });
}

// SPDX-License-Identifier: Apache-2.0
// .keras archives, built from a config and, after a zero byte, the weights file: loads and prints
// the model.
#include <cornu/cornu.h>

#include "framework/io/archive.h"
#include "framework/train/console/summary.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cornu;
  const std::string_view text = fuzz::text_of(data, size);
  const size_t end = text.find('\0');
  if (end == std::string_view::npos) return -1;
  static const std::string path = fuzz::scratch_file(".keras");
  const ArchiveMember members[] = {{"config.json", fuzz::bytes_of(text.substr(0, end))},
                                   {"model.weights.h5", fuzz::bytes_of(text.substr(end + 1))}};
  write_archive(path, members);
  return fuzz::attempt([&] {
    clear_session();
    format_summary(summarize(load_model(path)), {}, 100);
  });
}

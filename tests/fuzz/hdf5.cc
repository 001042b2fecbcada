// SPDX-License-Identifier: Apache-2.0
// HDF5 files: reads all groups, attributes and datasets.
#include "framework/saving/hdf5_file.h"

#include "tests/fuzz/support.h"

namespace {

using namespace cornu;

constexpr double kMaxElements = 1'000'000;

class Walk {
 public:
  explicit Walk(const Hdf5Reader& reader) : reader_(reader) {}

  // Links may form cycles.
  void visit(const std::string& path, int depth) {
    if (depth > 8 || ++visited_ > 500) return;
    fuzz::attempt([&] { reader_.string_attribute(path, "name"); });
    fuzz::attempt([&] { reader_.int_attribute(path, "count"); });
    fuzz::attempt([&] { reader_.strings_attribute(path, "layer_names"); });
    fuzz::attempt([&] {
      if (reader_.is_dataset(path)) read(path);
    });
    fuzz::attempt([&] {
      for (const std::string& name : reader_.children(path)) {
        visit(path.empty() ? name : path + "/" + name, depth + 1);
      }
    });
  }

 private:
  void read(const std::string& path) {
    const auto [shape, dtype] = reader_.describe(path);
    double elements = 1;
    for (const int64_t dim : shape) elements *= static_cast<double>(dim);
    if (elements <= kMaxElements) reader_.read(path, shape, dtype);
  }

  const Hdf5Reader& reader_;
  int visited_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::attempt([&] {
    const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
    const Hdf5Reader reader = Hdf5Reader::from_bytes({bytes.begin(), bytes.end()}, "file");
    Walk(reader).visit("", 0);
  });
}

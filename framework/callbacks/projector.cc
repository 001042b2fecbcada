// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/projector.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/io/atomic_file.h"
#include "framework/ops/math.h"

namespace cornu::callbacks {
namespace {

void write_text(const std::string& path, const std::string& text) {
  write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

std::string table_of(const Tensor& weight) {
  const Tensor values = ops::cast(weight.host(), DType::Float32);
  const std::span<const float> numbers = values.data<float>();
  const auto columns = static_cast<size_t>(values.dim(-1));
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i) {
    text += fmt::format("{:.9g}{}", numbers[i], (i + 1) % columns == 0 ? '\n' : '\t');
  }
  return text;
}

}  // namespace

void write_projector(const std::string& folder, const std::vector<Embeddings>& embeddings,
                     const std::map<std::string, std::string>& metadata) {
  for (const auto& entry : metadata) {
    const std::string& layer = entry.first;
    const bool known =
        layer.empty() ? embeddings.size() == 1
                      : std::any_of(embeddings.begin(), embeddings.end(),
                                    [&](const Embeddings& each) { return each.layer == layer; });
    check<InvalidArgument>(known,
                           "embeddings_metadata: expected names of Embedding layers, or \"\" where "
                           "there is one; got \"{}\" with {} of them.",
                           layer, embeddings.size());
  }
  const std::filesystem::path place = folder;
  std::string config;
  for (const Embeddings& each : embeddings) {
    std::string file = each.weight.path() + ".tsv";
    std::replace(file.begin(), file.end(), '/', '_');
    write_text((place / file).string(), table_of(each.weight.stored()));
    // JSON strings are valid in text protocol buffers, too.
    config += fmt::format("embeddings {{\n  tensor_name: {}\n  tensor_path: {}\n",
                          Json(each.weight.path()).dump(), Json(file).dump());
    const auto own = metadata.find(each.layer);
    const auto found = own != metadata.end() ? own : metadata.find("");
    if (found != metadata.end()) {
      config += fmt::format("  metadata_path: {}\n", Json(found->second).dump());
    }
    config += "}\n";
  }
  write_text((place / "projector_config.pbtxt").string(), config);
}

}  // namespace cornu::callbacks

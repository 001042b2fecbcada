// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/keras_archive.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <span>
#include <utility>

#include "framework/io/atomic_file.h"
#include "framework/saving/assets.h"
#include "framework/saving/legacy_format.h"
#include "framework/strategy/strategy.h"

namespace cornu {
namespace {

constexpr char kMetadata[] = "metadata.json";
constexpr char kConfig[] = "config.json";
constexpr char kWeights[] = "model.weights.h5";
constexpr size_t kMaxConfig = size_t{64} << 20;
// Neither weights nor configs compress better than this: archives that claim so are rejected.
constexpr size_t kMaxExpansion = 64;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

bool is_of_keras_2(const ArchiveReader& archive, size_t most) {
  if (!archive.contains(kMetadata)) return false;
  try {
    const Json metadata = Json::parse(archive.read_text(kMetadata, most));
    const Json* version = metadata.is_object() ? metadata.find("keras_version") : nullptr;
    return version && version->is_string() && version->as_string().starts_with("2.");
  } catch (const Error&) {  // irrelevant
    return false;
  }
}

}  // namespace

void write_keras_archive(const std::string& path, const Json& config, const Layer& layer,
                         const OptimizerState& optimizer) {
  const std::string metadata =
      Json::object(
          {{"keras_version", kKerasVersion},
           {"date_saved", fmt::format("{:%Y-%m-%d@%H:%M:%S}", fmt::localtime(std::time(nullptr)))}})
          .dump();
  const std::string text = config.dump();
  const Hdf5Image weights = weights_image(layer, optimizer);
  if (!get_strategy().is_chief()) return;
  const auto assets = assets_of(layer);
  std::vector<ArchiveMember> members = {{kMetadata, bytes_of(metadata)},
                                        {kConfig, bytes_of(text)},
                                        {.name = kWeights, .bytes = {}, .pieces = weights.pieces}};
  for (const auto& [name, bytes] : assets) members.push_back({name, bytes_of(bytes)});
  write_archive(path, members);
}

KerasArchive::KerasArchive(std::string path) : path_(std::move(path)), archive_(path_) {
  require_inside(path_, archive_.names());
}

Json KerasArchive::config() const {
  const size_t most = std::min(kMaxConfig, kMaxExpansion * file_size(path_));
  Json config;
  try {
    config = Json::parse(archive_.read_text(kConfig, most));
  } catch (Error& error) {
    error.add_place(config_place());
    throw;
  }
  if (!is_of_keras_2(archive_, most)) return config;
  return from_file(config_place(), [&] { return legacy::modern_config(config); });
}

WeightsSource KerasArchive::weights() const {
  return WeightsSource::of_archive(archive_, path_, kWeights, kMaxExpansion * file_size(path_));
}

std::string KerasArchive::config_place() const { return path_ + ": " + kConfig; }

void KerasArchive::load_assets(const Layer& layer) const {
  cornu::load_assets(archive_, path_, kMaxExpansion * file_size(path_), layer);
}

}  // namespace cornu

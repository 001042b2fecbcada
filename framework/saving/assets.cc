// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/assets.h"

#include "framework/model/saved_parts.h"
#include "framework/saving/weight_paths.h"

namespace cornu {
namespace {

constexpr char kAssets[] = "assets/";

std::string asset_path(const SavedLayer& saved, const std::string& name) {
  return kAssets + (saved.path.empty() ? name : saved.path + "/" + name);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> assets_of(const Layer& model) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const SavedLayer& saved : weight_paths(model)) {
    const auto parts = saved_parts_of(*saved.layer);
    if (!parts) continue;
    for (auto& [name, bytes] : parts->saved_assets()) {
      files.emplace_back(asset_path(saved, name), std::move(bytes));
    }
  }
  return files;
}

void load_assets(const ArchiveReader& archive, const std::string& path, size_t limit,
                 const Layer& model) {
  for (const SavedLayer& saved : weight_paths(model)) {
    const auto parts = saved_parts_of(*saved.layer);
    if (!parts) continue;
    SavedParts::Assets assets;
    for (const std::string& name : parts->asset_names()) {
      const std::string member = asset_path(saved, name);
      check<DataLoss>(archive.contains(member), "{} has no '{}', which {} '{}' needs.", path,
                      member, saved.layer->class_name(), saved.layer->name());
      assets.emplace_back(name, archive.read_text(member, limit));
    }
    try {
      if (!assets.empty()) parts->load_assets(assets);
    } catch (Error& error) {
      error.add_place(path);
      throw;
    }
  }
}

}  // namespace cornu

// SPDX-License-Identifier: Apache-2.0
// Keras's `.keras` files: a config, weights and other files of a model, or of a layer that is saved
// alone.
#pragma once

#include <string>

#include "framework/core/json.h"
#include "framework/io/archive.h"
#include "framework/model/layer.h"
#include "framework/saving/weights_file.h"

namespace cornu {

// Writes `layer`, which `config` describes, atomically; nothing on workers that aren't the chief.
// For errors see atomic_file.h.
void write_keras_archive(const std::string& path, const Json& config, const Layer& layer,
                         const OptimizerState& optimizer = {});

// An archive being read. Errors name the file and what is in it; NotFound without the file,
// DataLoss for one that is damaged or says that it has more than its size allows, InvalidArgument
// for one with members that would lie outside of a folder that it is unpacked to.
class KerasArchive {
 public:
  explicit KerasArchive(std::string path);

  Json config() const;
  WeightsSource weights() const;
  std::string config_place() const;  // how errors call the config: "model.keras: config.json"
  // Gives the layers their files: vocabularies. After the weights.
  void load_assets(const Layer& layer) const;

 private:
  std::string path_;
  ArchiveReader archive_;
};

// Runs `make`; what it throws says which part of a file was bad.
template <class F>
auto from_file(const std::string& place, const F& make) {
  try {
    return make();
  } catch (const NotFound& error) {  // a key that isn't there
    raise<DataLoss>("{}: {}", place, error.what());
  } catch (Error& error) {
    error.add_place(place);
    throw;
  }
}

}  // namespace cornu

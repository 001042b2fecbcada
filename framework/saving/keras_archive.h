// SPDX-License-Identifier: Apache-2.0
// Keras's `.keras` files: a config, weights and other files of a model or of a single layer.
#pragma once

#include <string>

#include "framework/core/json.h"
#include "framework/io/archive.h"
#include "framework/model/layer.h"
#include "framework/saving/weights_file.h"

namespace cornu {

// Writes `layer`, described by `config`, atomically; a no-op on workers other than the chief. For
// errors see atomic_file.h.
void write_keras_archive(const std::string& path, const Json& config, const Layer& layer,
                         const OptimizerState& optimizer = {});

// An archive opened for reading. Errors name the file and the member; throws NotFound if the file
// doesn't exist, DataLoss if it is damaged or claims more content than its size allows, and
// InvalidArgument if unpacking it would write outside the target directory.
class KerasArchive {
 public:
  explicit KerasArchive(std::string path);

  Json config() const;
  WeightsSource weights() const;
  std::string config_place() const;  // the config's name in errors: "model.keras: config.json"
  // Passes the layers their files, such as vocabularies. Call it after the weights are loaded.
  void load_assets(const Layer& layer) const;

 private:
  std::string path_;
  ArchiveReader archive_;
};

// Runs `make`; its errors name the place in the file.
template <class F>
auto from_file(const std::string& place, const F& make) {
  try {
    return make();
  } catch (const NotFound& error) {  // a missing key
    raise<DataLoss>("{}: {}", place, error.what());
  } catch (Error& error) {
    error.add_place(place);
    throw;
  }
}

}  // namespace cornu

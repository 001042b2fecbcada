// SPDX-License-Identifier: Apache-2.0
// Keras's weight files: *.weights.h5, model.weights.h5 in a .keras archive, *.weights.json.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/model/layer.h"
#include "framework/saving/weights_source.h"

namespace cornu {

inline constexpr char kKerasVersion[] = "3.15.1";  // writes the formats of this version

// An optimizer's state as saved in files: "optimizer/vars/0", …. Its variables include those of
// inner optimizers. Keras's files store the latter also in separate groups
// ("optimizer/inner_optimizer/vars/0"), which are written but not read.
struct OptimizerState {
  std::string name;  // "adam"
  std::vector<Variable> variables;
  std::vector<std::pair<std::string, OptimizerState>> parts = {};  // "inner_optimizer", …
  bool built = true;                                               // whether its slots exist
  std::vector<Variable> trained = {};                              // what it updates
  // Additional optimizers that the model applies itself, by attribute: "d_optimizer/vars/0".
  // load_weights warns if one doesn't match.
  std::vector<std::pair<std::string, OptimizerState>> others = {};
  bool empty() const { return variables.empty(); }
};

// Layers to leave out, each with its descendants.
using SkippedLayers = std::set<const Layer*>;

// Returns a file's bytes, which share memory with the weights. Throws FailedPrecondition, naming
// the layer, when a weight is poisoned.
Hdf5Image weights_image(const Layer& model, const OptimizerState& optimizer = {},
                        const SkippedLayers& skipped = {});

// Whether an optimizer's state was restored. Like Keras, loading continues without it if it doesn't
// match. Unbuilt: the file's optimizer has made steps, but this one isn't built, so its variables
// aren't known.
enum class OptimizerRestore { NotAsked, NotInFile, Misfit, Unbuilt, Done };

// Sets the model's weights, and the optimizer's state if it matches, to those of a file. The model
// must be built. Nothing is changed unless all weights match, and no memory is allocated for a
// weight before its shape has been checked; then they are read one after another. With
// `skip_mismatch`, layers that don't match keep their weights, and a warning names them.
//
// Throws DataLoss for a file that isn't HDF5 or is damaged, and InvalidArgument, naming layer and
// weight, for a file of another architecture.
OptimizerRestore load_weights(const WeightsSource& source, const Layer& model,
                              const OptimizerState& optimizer = {}, bool skip_mismatch = false,
                              const SkippedLayers& skipped = {});
// As above for a file's bytes; `name` is the file's name in errors.
OptimizerRestore load_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                         const Layer& model, const OptimizerState& optimizer = {});

// Whether an HDF5 file is one of Keras 2, of weights or a whole model.
bool is_legacy_weights_file(const std::string& path);

// How weights in a Keras 2 file are assigned to a model's layers.
struct LegacyOptions {
  bool by_name = false;        // match layers by name rather than by order
  bool skip_mismatch = false;  // skip weights that don't match, with a warning
};
// Sets weights to those in a file of Keras 2 or keras.applications (*.h5, also a whole model's
// file). By order, the file must have the same number of layers with weights as the model, each
// with the same number of weights. By name, layers without a counterpart are ignored. A whole
// model's file may include the optimizer's state, in the order of its variables. Throws NotFound
// when the file doesn't exist.
void load_legacy_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                    const Layer& model, const LegacyOptions& options = {});
OptimizerRestore load_legacy_weights_file(const std::string& path, const Layer& model,
                                          const OptimizerState& optimizer = {},
                                          const LegacyOptions& options = {});

// Returns the config in a whole model's file of this kind, in the form of a .keras file's
// config.json, including compile arguments; layer calls in Keras 2's form are converted to Keras
// 3's. Throws InvalidArgument for a file that contains only weights, and DataLoss for invalid JSON.
Json read_legacy_config(const std::string& path);
// Writes a file of this kind atomically (for errors see also atomic_file.h), as Keras 3's save does
// for names ending in .h5. `model` must be functional or Sequential; `config` is as for a .keras
// file. Throws InvalidArgument, naming the layer, for a learned vocabulary.
void save_legacy_model(const std::string& path, const Json& config, const Layer& model,
                       const OptimizerState& optimizer = {});
// Writes a weights file atomically (for errors see also atomic_file.h).
void save_weights_file(const std::string& path, const Layer& model,
                       const OptimizerState& optimizer = {}, const SkippedLayers& skipped = {});
// As above, but split into several files next to `path`, a .weights.json that lists their contents.
// Each has at most `most` bytes of weights. The files are replaced one by one, the .weights.json
// last. Throws InvalidArgument, naming the weight, for a larger weight.
void save_weights_shards(const std::string& path, uint64_t most, const Layer& model,
                         const OptimizerState& optimizer = {}, const SkippedLayers& skipped = {});

}  // namespace cornu

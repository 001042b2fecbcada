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

inline constexpr char kKerasVersion[] = "3.15.1";  // whose formats are written

// An optimizer's state, as files keep it: "optimizer/vars/0", …. Those of optimizers that it gives
// its updates to are among its variables; Keras's files have them in groups of their own, too
// ("optimizer/inner_optimizer/vars/0"), which are written, but not read.
struct OptimizerState {
  std::string name;  // "adam"
  std::vector<Variable> variables;
  std::vector<std::pair<std::string, OptimizerState>> parts = {};  // "inner_optimizer", …
  bool built = true;                                               // whether its slots are there
  // Of others that the model applies itself, by the attributes that they are: "d_optimizer/vars/0".
  // Where one doesn't fit, load_weights warns.
  std::vector<std::pair<std::string, OptimizerState>> others = {};
  bool empty() const { return variables.empty(); }
};

// Layers that are left out, each with those below it.
using SkippedLayers = std::set<const Layer*>;

// A file's bytes, which share the weights' memory. FailedPrecondition, naming the layer, when a
// weight is poisoned.
Hdf5Image weights_image(const Layer& model, const OptimizerState& optimizer = {},
                        const SkippedLayers& skipped = {});

// Whether an optimizer's state was restored. Keras goes on without it when it doesn't fit. Unbuilt:
// the file's optimizer had made steps, and this one isn't built, so that nobody knows what it
// takes.
enum class OptimizerRestore { NotAsked, NotInFile, Misfit, Unbuilt, Done };

// Sets the model's weights, and the optimizer's state where it fits, to a file's. The model must be
// built. Nothing is changed unless all weights fit, and no memory is taken for one before its shape
// was compared; then they are read one after another. With `skip_mismatch`, layers that don't fit
// keep theirs, and a warning names them.
//
// Errors: DataLoss when it isn't an HDF5 file, or is damaged; InvalidArgument, naming layer and
// weight, when the file is of another architecture.
OptimizerRestore load_weights(const WeightsSource& source, const Layer& model,
                              const OptimizerState& optimizer = {}, bool skip_mismatch = false,
                              const SkippedLayers& skipped = {});
// The same of a file's bytes; `name` is what errors call it.
OptimizerRestore load_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                         const Layer& model, const OptimizerState& optimizer = {});

// How weights go from a file of Keras 2 to a model's layers.
struct LegacyOptions {
  bool by_name = false;        // to layers of the same name, else by their order
  bool skip_mismatch = false;  // weights that don't fit are left, with a warning
};
// Sets weights to those in a file of Keras 2 and of keras.applications (*.h5, also a whole
// model's). By order: the file must have as many layers with weights as the model, each with as
// many weights. By name: layers that only one of them has are left alone. A whole model's file may
// have the optimizer's state, in the order of its variables. NotFound when there is no file.
void load_legacy_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                    const Layer& model, const LegacyOptions& options = {});
OptimizerRestore load_legacy_weights_file(const std::string& path, const Layer& model,
                                          const OptimizerState& optimizer = {},
                                          const LegacyOptions& options = {});

// What a whole model's file of this kind says of it, as a .keras file's config.json has it, compile
// arguments included; calls of layers as Keras 2 wrote them become those of Keras 3.
// InvalidArgument for a file of weights alone, DataLoss for what is no JSON.
Json read_legacy_config(const std::string& path);
// Writes such a file atomically (see atomic_file.h, also for the errors), as Keras 3's save does
// for a name that ends in .h5. `model` is functional or Sequential; `config`: as for a .keras file.
// InvalidArgument, naming it, for a vocabulary that a layer has learned.
void save_legacy_model(const std::string& path, const Json& config, const Layer& model,
                       const OptimizerState& optimizer = {});
// Writes one atomically (see atomic_file.h, also for the errors).
void save_weights_file(const std::string& path, const Layer& model,
                       const OptimizerState& optimizer = {}, const SkippedLayers& skipped = {});
// The same in several files beside `path`, a .weights.json that says what is where: each has
// weights of at most `most` bytes. They are replaced one by one, the .weights.json last.
// InvalidArgument, naming it, for a larger weight.
void save_weights_shards(const std::string& path, uint64_t most, const Layer& model,
                         const OptimizerState& optimizer = {}, const SkippedLayers& skipped = {});

}  // namespace cornu

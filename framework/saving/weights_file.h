// SPDX-License-Identifier: Apache-2.0
// Keras's weight files: *.weights.h5, and model.weights.h5 in a .keras archive.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/model/layer.h"

namespace cornu {

// An optimizer's state, as files keep it: "optimizer/vars/0", …. Those of optimizers that it gives
// its updates to are among its variables; Keras's files have them in groups of their own, too
// ("optimizer/inner_optimizer/vars/0"), which are written, but not read.
struct OptimizerState {
  std::string name;  // "adam"
  std::vector<Variable> variables;
  std::vector<std::pair<std::string, OptimizerState>> parts = {};  // "inner_optimizer", …
  bool empty() const { return variables.empty(); }
};

// The file's bytes. FailedPrecondition, naming the layer, when a weight is poisoned.
std::vector<std::byte> weights_to_bytes(const Layer& model, const OptimizerState& optimizer = {});

// Whether an optimizer's state was restored. Keras goes on without it when it doesn't fit.
enum class OptimizerRestore { NotAsked, NotInFile, Misfit, Done };

// Sets the model's weights, and the optimizer's state where it fits, to a file's; `name` is what
// errors call the file. The model must be built. Nothing is changed unless all weights fit, and no
// memory is taken for one before its shape was compared.
//
// Errors: DataLoss when it isn't an HDF5 file, or is damaged; InvalidArgument, naming layer and
// weight, when the file is of another architecture.
OptimizerRestore load_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                         const Layer& model, const OptimizerState& optimizer = {});
// The same from a file: NotFound when there is none.
OptimizerRestore load_weights_file(const std::string& path, const Layer& model,
                                   const OptimizerState& optimizer = {});
// The same from a file of Keras 2 and of keras.applications (*.h5, also a whole model's), whose
// layers are matched by their order. A whole model's file may have the optimizer's state, in the
// order of its variables.
void load_legacy_weights_from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                    const Layer& model);
OptimizerRestore load_legacy_weights_file(const std::string& path, const Layer& model,
                                          const OptimizerState& optimizer = {});

// What a whole model's file of this kind says of it, as a .keras file's config.json has it, compile
// arguments included; calls of layers as Keras 2 wrote them become those of Keras 3.
// InvalidArgument for a file of weights alone, DataLoss for what is no JSON.
Json read_legacy_config(const std::string& path);
// Writes one atomically (see atomic_file.h, also for the errors).
void save_weights_file(const std::string& path, const Layer& model,
                       const OptimizerState& optimizer = {});

}  // namespace cornu

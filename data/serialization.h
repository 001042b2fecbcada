// SPDX-License-Identifier: Apache-2.0
// Serialized pipelines, which a coordinator sends to its workers.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace cornu::data {

// A dataset as text, with large tensors stored separately.
struct SerializedDataset {
  // JSON: {"version", "links", "end"}. Links are in topological order, each listed once: {"kind",
  // "inputs" (indices of links), "config", "drawn_seed" (if it drew one)}. "end" is the index of
  // the link that yields the elements.
  std::string pipeline;
  // Tensors over 64 KiB, by the hexadecimal SHA-256 of their bytes, each once: a blob that was sent
  // before needn't be sent again.
  std::map<std::string, std::string> blobs;

  // Converts to and from a single byte string. from_bytes throws DataLoss, saying what is wrong,
  // for malformed bytes.
  std::string to_bytes() const;
  static SerializedDataset from_bytes(std::string_view bytes);
};

// Serializes a dataset so that another process can recreate it with the same elements in the same
// order, element_spec, cardinality and options; positions saved by one can be restored by the
// other. Seeds are included, whether given or drawn. Datasets of files keep the paths. Functions
// are serialized as their graphs; if axes of their inputs vary, they are traced with several sizes,
// and one graph represents them all if these traces agree.
//
// Throws FailedPrecondition, naming the transform and what to do, for what can't be serialized:
// from_generator; functions that run on the host (on strings, with item(), or with traced = false),
// that read a variable, or whose graph depends on the sizes of axes that vary; functions that
// return datasets (flat_map, interleave, window, group_by_window); and custom sources and
// transforms, unless they are registered (data/serialization/link.h).
//
// Thread-safe. Reference: the graphs sent by tf.data's service.
SerializedDataset serialize(const Dataset& dataset);

// Recreates the dataset. Nothing is computed and no file is opened before it is iterated; memory is
// bounded by the size of the bytes. Throws DataLoss or InvalidArgument, naming the link and what
// was expected, for damaged input: an unknown kind, a blob that is missing or has another digest, a
// graph that doesn't fit its input, more than 1,024 links in a row.
Dataset deserialize(const SerializedDataset& serialized);

// The hexadecimal SHA-256 of the computation a dataset describes: equal pipelines have the same
// fingerprint in any process, regardless of drawn seeds (given seeds do count) and of the numbers
// of threads and buffers. Throws FailedPrecondition like serialize(). Reference:
// tf.data.Dataset.fingerprint.
std::string fingerprint(const Dataset& dataset);

}  // namespace cornu::data

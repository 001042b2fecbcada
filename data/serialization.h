// SPDX-License-Identifier: Apache-2.0
// Pipelines as bytes: what a coordinator sends to its workers.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace cornu::data {

// A dataset as text, with its large tensors apart.
struct SerializedDataset {
  // JSON: {"version", "links", "end"}. Links are in topological order, and each is there once:
  // {"kind", "inputs" (numbers of links), "config", "drawn_seed" (where it drew one)}. "end" is the
  // number of the one that gives the elements.
  std::string pipeline;
  // Tensors over 64 KiB by their SHA-256 in hexadecimal digits, each once: what has been sent under
  // a key needn't be sent again.
  std::map<std::string, std::string> blobs;

  // All of it. from_bytes: DataLoss, saying what is wrong, for bytes that are no such thing.
  std::string to_bytes() const;
  static SerializedDataset from_bytes(std::string_view bytes);
};

// What another process makes the same dataset of: the same elements in the same order,
// element_spec, cardinality and options; positions that one saves can be restored by the other.
// Seeds go along, given or drawn. What reads files keeps their paths. Functions travel as their
// graphs; where axes of what they take vary, they are traced for several sizes, and one graph
// stands for all where these traces are alike.
//
// FailedPrecondition, naming the transform and what to do, for what can't travel: from_generator;
// functions that run on the host (of strings, with item(), or with traced = false), that read a
// variable, or whose graph depends on the sizes of axes that vary; functions that give datasets
// (flat_map, interleave, window, group_by_window); and sources and transforms of one's own, unless
// they are registered (data/serialization/link.h).
//
// Thread-safe. Reference: tf.data's graphs, which its service sends.
SerializedDataset serialize(const Dataset& dataset);

// The dataset again. Nothing is computed and no file is opened before it is iterated; memory is
// bounded by the bytes. DataLoss or InvalidArgument, naming the link and what was expected, for
// what is damaged: an unknown kind, a blob that is missing or has another digest, a graph that
// doesn't fit its input, more than 1,024 links behind one another.
Dataset deserialize(const SerializedDataset& serialized);

// The SHA-256, in hexadecimal digits, of what a dataset computes: of equal pipelines in any process
// the same, whatever seeds they drew (those that were given count) and however many threads and
// buffers they have. FailedPrecondition as for serialize. Reference: tf.data.Dataset.fingerprint.
std::string fingerprint(const Dataset& dataset);

}  // namespace cornu::data

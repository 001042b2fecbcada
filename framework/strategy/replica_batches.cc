// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/replica_batches.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/core/error.h"
#include "framework/ops/ops.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {
namespace {

// What a worker reports about a step.
constexpr char kEndless[] = "endless";
constexpr char kBatches[] = "batches";
constexpr char kEnded[] = "ended";
constexpr char kNothingYet[] = "nothing yet";  // ended, without ever having had a batch

Tensor without_rows(DType dtype, const Shape& shape) {
  if (shape.empty()) return ops::zeros(shape, dtype);
  std::vector<int64_t> dims = shape.dims();
  dims.front() = 0;
  return Tensor::empty(Shape(dims), dtype);
}

// The result shares no memory with the batch.
Tensors without_rows(const Tensors& tensors) {
  std::vector<Tensor> empty;
  for (const Tensor& tensor : tensors) {
    empty.push_back(tensor.rank() == 0 ? tensor : without_rows(tensor.dtype(), tensor.shape()));
  }
  return tensors.with(std::move(empty));
}

Json to_kind(const Tensors& tensors) {
  Json::Array list;
  for (size_t i = 0; i < tensors.size(); ++i) {
    list.push_back(Json::object({{"dtype", fmt::format("{}", tensors[i].dtype())},
                                 {"shape", tensors[i].shape()},
                                 {"name", tensors.has_names() ? tensors.names()[i] : ""}}));
  }
  return Json::object({{"named", tensors.has_names()}, {"tensors", std::move(list)}});
}

Tensors from_kind(const Json& kind) {
  std::vector<Tensors::Named> named;
  std::vector<Tensor> list;
  for (const Json& type : kind.at("tensors").as_array()) {
    list.push_back(
        without_rows(dtype_from_string(type.at("dtype").as_string()), type.at("shape").as_shape()));
    named.emplace_back(type.at("name").as_string(), list.back());
  }
  return kind.at("named").as_bool() ? Tensors::named(std::move(named)) : Tensors(std::move(list));
}

}  // namespace

std::vector<Batch> ReplicaBatches::next_own() {
  try {
    std::vector<Batch> own;
    Batch batch;
    while (own.size() < in_step_ && source_->next(batch)) own.push_back(batch);
    if (!own.empty() && !empty_) {
      const Batch& first = own.front();
      empty_ = {.x = without_rows(first.x),
                .y = without_rows(first.y),
                .sample_weight = without_rows(first.sample_weight)};
    }
    return own;
  } catch (const std::exception& error) {
    strategy_->tell_of_failure(error, "can't read its next batch");
    throw;
  }
}

std::vector<Batch> ReplicaBatches::next() {
  if (has_ended_) return {};
  std::vector<Batch> parts = next_own();
  has_ended_ = !has_anyone(!parts.empty());
  if (!has_ended_) parts.resize(in_step_, *empty_);
  return parts;
}

// Whether any worker has batches for this step. If so, this worker then knows their kind.
bool ReplicaBatches::has_anyone(bool has_own) {
  if (strategy_->num_workers() == 1) return has_own;
  if (all_endless_) {  // no more queries are needed
    if (!has_own) raise_unexpected_end();
    return true;
  }
  const char* own = has_own ? (is_endless_ ? kEndless : kBatches) : empty_ ? kEnded : kNothingYet;
  const auto all = strategy_->exchange("whether a dataset has batches", own);
  const auto is = [&](const char* what) {
    return [what](const std::string& said) { return said == what; };
  };
  all_endless_ = std::ranges::all_of(all, is(kEndless));
  const bool has_any =
      std::ranges::any_of(all, is(kBatches)) || std::ranges::any_of(all, is(kEndless));
  if (has_any && std::ranges::any_of(all, is(kNothingYet))) learn_kind();
  return has_any;
}

void ReplicaBatches::raise_unexpected_end() const {
  const FailedPrecondition error(
      "DistributedDataset: this worker's dataset said that it never ends, as those of all workers "
      "did, but it has ended. repeat() ends where its input gives nothing: give each worker data.");
  strategy_->tell_of_failure(error, "has no more batches");
  throw error;
}

// Takes the kind from the first worker that has had a batch.
void ReplicaBatches::learn_kind() {
  Json::Array own;
  if (empty_) own = {to_kind(empty_->x), to_kind(empty_->y), to_kind(empty_->sample_weight)};
  for (const std::string& said : strategy_->exchange("the kind of batches", Json(own).dump())) {
    const Json kind = Json::parse(said);
    if (empty_ || kind.size() == 0) continue;
    empty_ = {
        .x = from_kind(kind[0]), .y = from_kind(kind[1]), .sample_weight = from_kind(kind[2])};
  }
}

}  // namespace cornu::distribute

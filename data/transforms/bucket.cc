// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/serialization/links.h"
#include "data/transforms/said.h"
#include "data/transforms/transforms.h"
#include "framework/ops/ops.h"

namespace cornu::data {

template <class Fields>
void visit_fields(Fields& fields, BucketOptions& options) {
  fields("padded_shapes", options.padded_shapes);
  fields("padding_values", options.padding_values);
  fields("pad_to_bucket_boundary", options.pad_to_bucket_boundary);
  fields("no_padding", options.no_padding);
  fields("drop_remainder", options.drop_remainder);
}

namespace {

// Maps a length to its bucket: the number of boundaries it has reached.
MapFunction bucket_of(MapFunction length, std::vector<int64_t> boundaries) {
  return [length = std::move(length), boundaries = std::move(boundaries)](const Element& element) {
    const Element said = length(element);
    const bool is_scalar = said.tensors().size() == 1 && said.tensors()[0].rank() == 0;
    check<InvalidArgument>(is_scalar, "element_length_func gives {}, expected an integer scalar.",
                           said.structure() ? spec_of(said).to_string() : "nothing");
    const Tensor here = ops::cast(said.tensors()[0], DType::Int64);
    Tensor bucket = Tensor::scalar(int64_t{0});
    for (const int64_t boundary : boundaries) {
      bucket = bucket + ops::cast(ops::greater_equal(here, boundary), DType::Int64);
    }
    return Element(bucket);
  };
}

std::vector<Shape> shapes_of(const ElementSpec& spec, const BucketOptions& options) {
  if (!options.padded_shapes.empty()) return options.padded_shapes;
  std::vector<Shape> shapes;
  for (const TensorType& type : spec.types) shapes.push_back(type.shape);
  return shapes;
}

// Replaces unknown axes by the length of the longest element that fits into the bucket.
std::vector<Shape> filled(std::vector<Shape> shapes, const std::vector<int64_t>& boundaries,
                          int64_t bucket) {
  check<InvalidArgument>(bucket < std::ssize(boundaries),
                         "bucket_by_sequence_length: with pad_to_bucket_boundary, expected lengths "
                         "below the last boundary, {}, got a longer element.",
                         boundaries.back());
  for (Shape& shape : shapes) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == kUnknown) shape[axis] = boundaries[static_cast<size_t>(bucket)] - 1;
    }
  }
  return shapes;
}

void check_buckets(const std::vector<int64_t>& boundaries, const std::vector<int64_t>& sizes) {
  check<InvalidArgument>(!boundaries.empty(),
                         "bucket_by_sequence_length: expected bucket_boundaries, got none.");
  check<InvalidArgument>(std::is_sorted(boundaries.begin(), boundaries.end()),
                         "bucket_by_sequence_length: expected bucket_boundaries in ascending "
                         "order, got {}.",
                         fmt::join(boundaries, ", "));
  check<InvalidArgument>(sizes.size() == boundaries.size() + 1,
                         "bucket_by_sequence_length: expected {} bucket_batch_sizes, one more than "
                         "boundaries, got {}.",
                         boundaries.size() + 1, sizes.size());
  for (const int64_t size : sizes) {
    check<InvalidArgument>(size >= 1,
                           "bucket_by_sequence_length: expected bucket_batch_sizes of at least 1, "
                           "got {}.",
                           size);
  }
}

// Groups elements by the index of their bucket.
NodePtr grouped_by_bucket(NodePtr keyed, const ElementSpec& element,
                          const std::vector<int64_t>& boundaries, const std::vector<int64_t>& sizes,
                          const BucketOptions& options) {
  ElementSpec spec = element;
  const std::vector<Shape> shapes = shapes_of(spec, options);
  std::string text = fmt::format("buckets {} of {}{}{}{}", fmt::join(boundaries, " "),
                                 fmt::join(sizes, " "), options.no_padding ? ", not padded" : "",
                                 options.pad_to_bucket_boundary ? ", to boundaries" : "",
                                 options.drop_remainder ? ", drop" : "");
  for (const Tensor& value : options.padding_values) text += ", with " + value.to_string();
  check<InvalidArgument>(options.no_padding || shapes.size() == spec.types.size(),
                         "bucket_by_sequence_length: expected padded_shapes for {} tensors, got "
                         "{}.",
                         spec.types.size(), shapes.size());
  for (size_t i = 0; i < spec.types.size(); ++i) {
    TensorType& type = spec.types[i];
    type.shape = Shape{kUnknown}.concat(options.no_padding ? type.shape : shapes[i]);
  }
  const auto reduce = [=](int64_t bucket, NodePtr elements) {
    const int64_t size = sizes[static_cast<size_t>(bucket)];
    if (options.no_padding) {
      return make_batch(std::move(elements), size, {.drop_remainder = options.drop_remainder});
    }
    return make_padded_batch(
        std::move(elements), size,
        {.padded_shapes =
             options.pad_to_bucket_boundary ? filled(shapes, boundaries, bucket) : shapes,
         .padding_values = options.padding_values,
         .drop_remainder = options.drop_remainder});
  };
  const auto size_of = [sizes](int64_t bucket) {
    check<InvalidArgument>(0 <= bucket && bucket < std::ssize(sizes),
                           "bucket_by_sequence_length: expected a bucket in [0, {}), got {}.",
                           sizes.size(), bucket);
    return sizes[static_cast<size_t>(bucket)];
  };
  const auto write = [=](LinkWriter& link) {
    link.kind("bucket_by_sequence_length")("element", element)("bucket_boundaries", boundaries)(
            "bucket_batch_sizes", sizes)
        .options(options);
  };
  return make_grouped(std::move(keyed), element, reduce, size_of, text, spec, write);
}

}  // namespace

NodePtr make_bucket(NodePtr input, MapFunction length, std::vector<int64_t> boundaries,
                    std::vector<int64_t> sizes, const BucketOptions& options) {
  check_buckets(boundaries, sizes);
  const ElementSpec element = input->spec();
  NodePtr keyed = make_keyed(std::move(input), bucket_of(std::move(length), boundaries),
                             "group_by_window", "key_func");
  return grouped_by_bucket(std::move(keyed), element, boundaries, sizes, options);
}

NodePtr read_bucket(LinkReader& link) {
  const auto element = link.get<ElementSpec>("element");
  require_said(*link.input(), element, DType::Int64);
  const auto boundaries = link.get<std::vector<int64_t>>("bucket_boundaries");
  const auto sizes = link.get<std::vector<int64_t>>("bucket_batch_sizes");
  check_buckets(boundaries, sizes);
  return grouped_by_bucket(link.input(), element, boundaries, sizes, link.options<BucketOptions>());
}

}  // namespace cornu::data

// SPDX-License-Identifier: Apache-2.0
#include "data/saved_dataset.h"

#include "data/dataset.h"
#include "data/saved_folder.h"

namespace cornu::data {

void Dataset::save(const std::string& path, const SaveOptions& options) const {
  check<InvalidArgument>(cardinality() != kInfiniteCardinality,
                         "save: the dataset never ends. Call take() first.");
  check<InvalidArgument>(!path.empty(), "save: expected a directory, got ''.");
  SavedFolderWriter writer(path, element_spec(), options, "save", SavedFolderWriter::Lock::Wait);
  for (const Element& element : *this) writer.write(element, writer.file_of(element));
  writer.close();
}

Dataset Dataset::load(const std::string& path, const LoadOptions& options) {
  const SavedIndex index = SavedIndex::read(path);
  check<InvalidArgument>(!options.element_spec || as_signature(*options.element_spec) == index.spec,
                         "load: {} has elements of the kind {}, expected {}.", path, index.spec,
                         as_signature(options.element_spec.value_or(index.spec)));
  return dataset_of(path, index, options.reader_func);
}

}  // namespace cornu::data

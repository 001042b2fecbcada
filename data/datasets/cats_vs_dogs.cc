// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/cats_vs_dogs.h"

#include <algorithm>
#include <string_view>

#include "data/datasets/picture_files.h"

namespace cornu::datasets::cats_vs_dogs {

PictureSet load(const LoadOptions& options) {
  static const PictureSetDefinition definition{
      .archive = {.title = "cats_vs_dogs",
                  .name = "kagglecatsanddogs_5340.zip",
                  .folder = "https://download.microsoft.com/download/3/E/1/"
                            "3E1C3F21-ECDB-4869-8368-6DEBA77B919F/",
                  .hash = "b7974bd00a84a99921f36ee4403f089853777b5ae8d151c76a86e64900334af9"},
      .root = "PetImages",
      .classes = {{"cat", "Cat"}, {"dog", "Dog"}},
      .with_filename = true,
      .is_picture = [](std::span<const std::byte> file) {
        const std::string_view begin(reinterpret_cast<const char*>(file.data()),
                                     std::min<size_t>(file.size(), 10));
        return begin.find("JFIF") != std::string_view::npos;
      }};
  return load_pictures(definition, options);
}

}  // namespace cornu::datasets::cats_vs_dogs

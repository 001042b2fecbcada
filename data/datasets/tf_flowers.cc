// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/tf_flowers.h"

#include "data/datasets/picture_files.h"

namespace cornu::datasets::tf_flowers {

PictureSet load(const LoadOptions& options) {
  static const PictureSetDefinition definition{
      .archive = {.title = "tf_flowers",
                  .name = "flower_photos.tgz",
                  .folder = "http://download.tensorflow.org/example_images/",
                  .hash = "4c54ace7911aaffe13a365c34f650e71dd5bf1be0a58b464e5a7183e3e595d9c"},
      .root = "flower_photos",
      .classes = {{"dandelion", "dandelion"},
                  {"daisy", "daisy"},
                  {"tulips", "tulips"},
                  {"sunflowers", "sunflowers"},
                  {"roses", "roses"}},
      .is_picture = [](std::span<const std::byte> file) {
        return file.size() > 2 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8};
      }};
  return load_pictures(definition, options);
}

}  // namespace cornu::datasets::tf_flowers

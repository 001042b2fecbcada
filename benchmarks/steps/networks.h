// SPDX-License-Identifier: Apache-2.0
// Two of keras.applications, as they are there with weights=None, classes=10 and
// classifier_activation=None.
#pragma once

#include <cornu/cornu.h>

namespace cornu::benchmarks {

Model mobilenet_v2(const Shape& example);  // alpha 1
Model resnet50(const Shape& example);

}  // namespace cornu::benchmarks

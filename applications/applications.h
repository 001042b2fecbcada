// SPDX-License-Identifier: Apache-2.0
// All models of keras.applications that are here.
#pragma once

#include "applications/mobilenet_v2.h"

// SPDX-License-Identifier: Apache-2.0
// All available models of keras.applications.
#pragma once

#include "applications/convnext.h"
#include "applications/densenet.h"
#include "applications/efficientnet.h"
#include "applications/efficientnet_v2.h"
#include "applications/inception_resnet_v2.h"
#include "applications/inception_v3.h"
#include "applications/mobilenet.h"
#include "applications/mobilenet_v2.h"
#include "applications/mobilenet_v3.h"
#include "applications/nasnet.h"
#include "applications/resnet.h"
#include "applications/vgg.h"
#include "applications/xception.h"

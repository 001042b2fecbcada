// SPDX-License-Identifier: Apache-2.0
// All losses (keras.losses).
#pragma once

#include "cornu/train/losses/crossentropy.h"
#include "cornu/train/losses/hinge.h"
#include "cornu/train/losses/overlap.h"
#include "cornu/train/losses/regression.h"

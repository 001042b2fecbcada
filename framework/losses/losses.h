// SPDX-License-Identifier: Apache-2.0
// All losses (keras.losses).
#pragma once

#include "framework/losses/circle.h"
#include "framework/losses/crossentropy.h"
#include "framework/losses/ctc.h"
#include "framework/losses/hinge.h"
#include "framework/losses/overlap.h"
#include "framework/losses/regression.h"

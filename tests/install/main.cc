// SPDX-License-Identifier: Apache-2.0
// The smallest program that uses an installed Cornu.
#include <cornu/cornu.h>

int main() { return 0; }

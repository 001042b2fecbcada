// SPDX-License-Identifier: Apache-2.0
// The smallest program that uses an installed Cornu, after Qt's keywords are defined.
#define signals public
#define slots
#define emit
#define foreach(x, y) for (x : y)

#include <cornu/cornu.h>

#if !__has_include(<cornu/eigen.h>)
#error "cornu/eigen.h isn't installed"
#endif

int main() { return 0; }

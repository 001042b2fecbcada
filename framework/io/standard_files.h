// SPDX-License-Identifier: Apache-2.0
// The files that programs print to.
#pragma once

namespace cornu {

// Makes each of the files 0, 1 and 2 that is closed the null device: a file or connection opened
// afterwards would otherwise take its number, and receive what the program prints. Reading from and
// printing to them still fails. Called before anything is opened to be written to.
void occupy_standard_files();

}  // namespace cornu

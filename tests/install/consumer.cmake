# The CMakeLists.txt of a project that uses an installed Cornu.
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(cornu REQUIRED)
# Headers of the project's own, with the paths of some of Cornu's: nobody may take one for the other.
foreach(header IN ITEMS data/dataset.h layers/core/dense.h framework/core/tensor.h)
  file(WRITE "${CMAKE_CURRENT_SOURCE_DIR}/${header}" "#error \"this isn't Cornu's ${header}\"\n")
endforeach()
include_directories(BEFORE "${CMAKE_CURRENT_SOURCE_DIR}")
foreach(program IN LISTS PROGRAMS)  # name=source
  string(REPLACE "=" ";" program "${program}")
  list(GET program 0 name)
  list(GET program 1 source)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE cornu::cornu)
endforeach()

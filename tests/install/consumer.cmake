# The CMakeLists.txt of a project that uses an installed Cornu.
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(cornu REQUIRED)
foreach(program IN LISTS PROGRAMS)  # name=source
  string(REPLACE "=" ";" program "${program}")
  list(GET program 0 name)
  list(GET program 1 source)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE cornu::cornu)
endforeach()

# Run by ctest: see CMakeLists.txt for the variables.

function(step what)
  message(STATUS "${what}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}" COMMAND_ECHO NONE
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what}: failed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/consumer")
configure_file("${CONSUMER}" "${WORK}/consumer/CMakeLists.txt" COPYONLY)
string(REPLACE ";" "," sanitizers "${SANITIZE}")
if(sanitizers)
  set(flags "-fsanitize=${sanitizers}")
endif()

step("install" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
string(REPLACE ";" "\\;" programs "${PROGRAMS}")
step("configure" "${CMAKE_COMMAND}" -S consumer -B build -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${flags}"
  -DCMAKE_BUILD_TYPE=Release "-DPROGRAMS=${programs}")
step("build" "${CMAKE_COMMAND}" --build build)

foreach(program IN LISTS PROGRAMS)
  string(REGEX REPLACE "=.*" "" name "${program}")
  # oneDNN brings libgomp; a second OpenMP runtime beside it would fight it for the cores.
  step("${name}: libraries" ldd "build/${name}")
  if(output MATCHES "libi?omp[^\n]*")
    message(FATAL_ERROR "${name} loads a second OpenMP runtime: ${CMAKE_MATCH_0}")
  endif()
  if(name MATCHES "^(mnist|custom_training_loop|multi_worker|parameter_server)$" AND NOT IS_DIRECTORY "$ENV{CORNU_DATASETS}/mnist")
    message(STATUS "${name}: built, not run: CORNU_DATASETS names no folder with mnist in it")
    continue()
  endif()
  if(name STREQUAL "parameter_server")
    if(EXISTS "${BUILD}/bin/cornu")
      step("${name}: run by several tasks" "${WORK}/prefix/bin/cornu" launch --chief -n 2 --ps 2 --
        "build/${name}")
    endif()
    continue()
  endif()
  step("${name}: run" "build/${name}")
  if(name STREQUAL "multi_worker" AND EXISTS "${BUILD}/bin/cornu")
    step("${name}: run by two workers" "${WORK}/prefix/bin/cornu" launch -n 2 -- "build/${name}")
  endif()
endforeach()

# What is loaded where there is an NVIDIA GPU is found by programs that lie elsewhere.
file(GLOB_RECURSE cuda "${WORK}/prefix/libcornu_cuda.so")
if(cuda)
  get_filename_component(folder "${cuda}" DIRECTORY)
  step("run path" readelf -d build/main)
  if(NOT output MATCHES "R(UN)?PATH[^\n]*${folder}")
    message(FATAL_ERROR "main doesn't find ${cuda}: ${output}")
  endif()
endif()

# The command-line tool finds its part with the library, and what it says about itself is there.
if(EXISTS "${BUILD}/bin/cornu")
  step("cornu" "${WORK}/prefix/bin/cornu" devices)
  foreach(file IN ITEMS share/man/man1/cornu.1 share/bash-completion/completions/cornu
          share/zsh/site-functions/_cornu share/fish/vendor_completions.d/cornu.fish)
    if(NOT EXISTS "${WORK}/prefix/${file}")
      message(FATAL_ERROR "${file} isn't installed")
    endif()
  endforeach()
endif()

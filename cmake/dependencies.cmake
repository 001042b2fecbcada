# The external libraries, by the names that follow LINK in cornu_library and similar functions:
#
#   name        target                          what                        Debian package
#   dnnl        DNNL::dnnl                      oneDNN                      libdnnl-dev
#   eigen       Eigen3::Eigen                   Eigen (headers)             libeigen3-dev
#   hdf5        hdf5::hdf5                      HDF5, serial C interface    libhdf5-dev
#   fmt         fmt::fmt                        {fmt}; every folder has it  libfmt-dev
#   spdlog      spdlog::spdlog                  spdlog                      libspdlog-dev
#   json        nlohmann_json::nlohmann_json    nlohmann/json (headers)     nlohmann-json3-dev
#   cli11       CLI11::CLI11                    CLI11 (headers)             libcli11-dev
#   zip         libzip::zip                     libzip                      libzip-dev
#   crypto      OpenSSL::Crypto                 libcrypto of OpenSSL        libssl-dev
#   ssl         OpenSSL::SSL                    libssl of OpenSSL           libssl-dev
#   curl        CURL::libcurl                   libcurl                     libcurl4-openssl-dev
#   zlib        ZLIB::ZLIB                      zlib                        zlib1g-dev
#   hwy         hwy::hwy                        Google Highway              libhwy-dev
#   hwy_contrib hwy::hwy_contrib                its sort of vectors         libhwy-dev
#   jpeg        JPEG::JPEG                      libjpeg-turbo               libjpeg62-turbo-dev
#   png         PNG::PNG                        libpng                      libpng-dev
#   gif         GIF::GIF                        giflib                      libgif-dev
#   re2         re2::re2                        RE2 (tf.strings' patterns)   libre2-dev
#   grpc        gRPC::grpc++                    gRPC                        libgrpc++-dev
#   threads     Threads::Threads                POSIX threads; every folder has it
#   openmp      GOMP::gomp                      libgomp.so.1                (comes with g++)
#   doctest     doctest::doctest                doctest (headers)           doctest-dev
#   benchmark   benchmark::benchmark            Google Benchmark            libbenchmark-dev
#
# The target's own name works after LINK, too. A library is searched for when it is first linked.
#
# OpenMP: oneDNN brings libgomp, and a process may hold only one OpenMP runtime, so no compiler is
# given an OpenMP flag (clang would bring libomp as well): code calls libgomp's GOMP_parallel.
#
# This file is installed beside cornuConfig.cmake, which uses it to find the same libraries.
include_guard(GLOBAL)

# Libraries that Cornu's public headers include: every folder compiles with them, and so do users.
set(CORNU_PUBLIC_DEPENDENCIES fmt threads)
# These are never linked (libcurl is loaded when a download needs it).
set(CORNU_HEADER_ONLY_DEPENDENCIES eigen json cli11 curl doctest)

# Imports a library that is found by one header and one library file. (The CMake files of Debian's
# dnnl and libzip packages aren't used: they insist on OpenCL headers and on command-line tools.)
function(_cornu_import target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER" "LIBRARY;SUFFIXES")
  string(MAKE_C_IDENTIFIER "CORNU_${target}" var)
  if(arg_HEADER)
    find_path(${var}_INCLUDE_DIR NAMES ${arg_HEADER} PATH_SUFFIXES ${arg_SUFFIXES})
  endif()
  find_library(${var}_LIBRARY NAMES ${arg_LIBRARY} PATH_SUFFIXES ${arg_SUFFIXES})
  mark_as_advanced(${var}_INCLUDE_DIR ${var}_LIBRARY)
  if(NOT ${var}_LIBRARY OR (arg_HEADER AND NOT ${var}_INCLUDE_DIR))
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED)
  if(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
    set_property(TARGET ${target} PROPERTY IMPORTED_GLOBAL ON)
  endif()
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${var}_LIBRARY}")
  if(arg_HEADER)
    set_target_properties(${target} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${${var}_INCLUDE_DIR}")
  endif()
endfunction()

# Finds the external library called `name` and puts its target into the variable `result`:
# empty when there is no library of that name, <name>-NOTFOUND when it is not on this machine.
# Also sets cornu_key, its name in the table above, and cornu_missing, the message if not found.
function(cornu_find_dependency name result)
  set(table
    "dnnl=DNNL::dnnl=libdnnl-dev" "eigen=Eigen3::Eigen=libeigen3-dev"
    "hdf5=hdf5::hdf5=libhdf5-dev" "fmt=fmt::fmt=libfmt-dev" "spdlog=spdlog::spdlog=libspdlog-dev"
    "json=nlohmann_json::nlohmann_json=nlohmann-json3-dev" "cli11=CLI11::CLI11=libcli11-dev"
    "zip=libzip::zip=libzip-dev" "curl=CURL::libcurl=libcurl4-openssl-dev"
    "crypto=OpenSSL::Crypto=libssl-dev" "ssl=OpenSSL::SSL=libssl-dev" "zlib=ZLIB::ZLIB=zlib1g-dev" "hwy=hwy::hwy=libhwy-dev"
    "hwy_contrib=hwy::hwy_contrib=libhwy-dev"
    "jpeg=JPEG::JPEG=libjpeg62-turbo-dev" "png=PNG::PNG=libpng-dev" "gif=GIF::GIF=libgif-dev"
    "re2=re2::re2=libre2-dev" "grpc=gRPC::grpc++=libgrpc++-dev" "threads=Threads::Threads=libc6-dev"
    "openmp=GOMP::gomp=libgomp1" "doctest=doctest::doctest=doctest-dev"
    "benchmark=benchmark::benchmark=libbenchmark-dev")
  set(target "")
  set(key "")
  foreach(row IN LISTS table)
    string(REPLACE "=" ";" row "${row}")
    list(GET row 0 row_name)
    list(GET row 1 row_target)
    if(name STREQUAL row_name OR name STREQUAL row_target)
      set(key ${row_name})
      set(target ${row_target})
      list(GET row 2 package)
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
  set(cornu_key "${key}" PARENT_SCOPE)
  if(NOT target)
    return()
  endif()

  if(NOT TARGET ${target})
    if(key STREQUAL "dnnl")
      _cornu_import(${target} HEADER dnnl.hpp LIBRARY dnnl)
    elseif(key STREQUAL "hdf5")
      _cornu_import(${target} HEADER hdf5.h LIBRARY hdf5_serial hdf5 SUFFIXES hdf5/serial)
    elseif(key STREQUAL "zip")
      _cornu_import(${target} HEADER zip.h LIBRARY zip)
    elseif(key STREQUAL "openmp")
      _cornu_import(${target} LIBRARY libgomp.so.1 gomp)
    elseif(key STREQUAL "crypto" OR key STREQUAL "ssl")
      find_package(OpenSSL QUIET)
    elseif(key STREQUAL "curl")
      find_package(CURL QUIET)
    elseif(key STREQUAL "zlib")
      find_package(ZLIB QUIET)
    elseif(key STREQUAL "jpeg")
      find_package(JPEG QUIET)
    elseif(key STREQUAL "png")
      find_package(PNG QUIET)
    elseif(key STREQUAL "gif")
      _cornu_import(${target} HEADER gif_lib.h LIBRARY gif)
    elseif(key STREQUAL "re2")
      _cornu_import(${target} HEADER re2/re2.h LIBRARY re2)
    elseif(key STREQUAL "grpc")
      # Only the libraries: gRPC's own CMake files require the Protocol Buffers compiler. Programs
      # that use no cluster don't load gRPC.
      _cornu_import(gRPC::grpc HEADER grpc/grpc.h LIBRARY grpc)
      _cornu_import(gRPC::gpr HEADER grpc/support/log.h LIBRARY gpr)
      _cornu_import(gRPC::absl HEADER absl/synchronization/mutex.h LIBRARY absl_synchronization)
      _cornu_import(${target} HEADER grpcpp/grpcpp.h LIBRARY grpc++)
      if(TARGET ${target})
        set_target_properties(${target} PROPERTIES
          INTERFACE_LINK_LIBRARIES "gRPC::grpc;gRPC::gpr;gRPC::absl" INTERFACE_LINK_OPTIONS "LINKER:--as-needed")
      endif()
    elseif(key STREQUAL "threads")
      find_package(Threads QUIET)
    else()
      string(REGEX REPLACE "::.*" "" config "${target}")
      find_package(${config} CONFIG QUIET)
    endif()
  endif()
  if(TARGET ${target})
    set(${result} ${target} PARENT_SCOPE)
  else()
    set(${result} "${key}-NOTFOUND" PARENT_SCOPE)
    set(cornu_missing "${key} was not found (Debian package: ${package})" PARENT_SCOPE)
  endif()
endfunction()

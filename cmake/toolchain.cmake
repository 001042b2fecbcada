# How everything is compiled. Included once, by the top CMakeLists.txt.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
  endif()
  # Release: -O1 compiles in three quarters of the time of -O2, which is used for the folders that
  # run in a step (cornu_library(... HOT)). Line tables would take a tenth of the time;
  # RelWithDebInfo has them.
  if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
    set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG" CACHE STRING "Flags of a Release build" FORCE)
  endif()

  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(CORNU_CCACHE ccache)
    if(CORNU_CCACHE)
      set(CMAKE_CXX_COMPILER_LAUNCHER "${CORNU_CCACHE}")
    endif()
  endif()
endif()

# Multiply-adds are fused only where the code says so explicitly: GCC and clang would fuse them
# wherever the processor can (any 64-bit ARM, or with -march=native), and the bits of a result would
# depend on the processor, the compiler, and, for the CPU backend's ops, on what they are fused with.
add_compile_options(-ffp-contract=off)

if(CORNU_SANITIZE)
  # Sanitizers make the library ten times as large: programs share it instead of each having a copy.
  option(BUILD_SHARED_LIBS "Build a shared library" ON)
  list(JOIN CORNU_SANITIZE "," sanitizers)
  # -O1: -O2 takes more compile time than it saves the tests; and so does -O1, except in the HOT
  # folders.
  # -g1: so that reports name lines.
  add_compile_options(-O1 -g1 -fsanitize=${sanitizers} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # empty optionals, indices within the capacity
  add_link_options(-fsanitize=${sanitizers})
  find_program(CORNU_LLD ld.lld)  # programs are large: lld takes a quarter of the time of ld
  if(CORNU_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
  if("thread" IN_LIST CORNU_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # fences aren't tracked: reports about them would be false
  endif()
endif()

if(CORNU_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "CORNU_FUZZ needs clang, whose libFuzzer the targets use; this is "
      "${CMAKE_CXX_COMPILER_ID}.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_compile_definitions(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
endif()

# Warnings, for Cornu's own code only.
function(cornu_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports false overlaps in "literal" + std::string (GCC bug 105329) and false
    # uninitialized members in moved std::variants. Clang and the sanitizers find the real ones.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-maybe-uninitialized)
    # On ARM, GCC notes that versions before 10 passed std::pair<double, double> otherwise.
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
      target_compile_options(${target} PRIVATE -Wno-psabi)
    endif()
    # GCC 13 and later mistake a reference to what a handle shares for one to the handle itself.
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      target_compile_options(${target} PRIVATE -Wno-dangling-reference)
    endif()
    if(CORNU_UNITY)  # a source included by another file is mistaken for a header
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
  if(CORNU_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

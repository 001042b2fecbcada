# Functions by which folders declare their targets.
include_guard(GLOBAL)

# Include paths are paths in the tree; <cornu/cornu.h> is in framework/include. Programs of other
# projects get copies, whose paths all begin with "cornu/" (public_headers.cmake).
set(cornu_include_dirs "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/framework/include")
set(cornu_copied_headers "${PROJECT_BINARY_DIR}/include")

# A library that one folder has found is available to all.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# Links external libraries, by the names of dependencies.cmake, and any other existing target.
# Sets cornu_keys: the libraries' names in the table.
function(cornu_link target)
  set(keys "")
  foreach(name IN LISTS ARGN)
    cornu_find_dependency(${name} found)
    if(found)
      target_link_libraries(${target} PRIVATE ${found})
      list(APPEND keys ${cornu_key})
    elseif(found MATCHES "NOTFOUND")
      message(FATAL_ERROR "${target}: ${cornu_missing}. ./run setup installs it.")
    elseif(TARGET ${name})
      target_link_libraries(${target} PRIVATE ${name})
    else()
      message(FATAL_ERROR "${target}: LINK ${name}: no such library. "
        "The names are in cmake/dependencies.cmake.")
    endif()
  endforeach()
  set(cornu_keys "${keys}" PARENT_SCOPE)
endfunction()

# cornu_folders(<name> <folder> ...): adds the folders, in this order.
function(cornu_folders)
  set(names "")
  while(ARGN)
    list(POP_FRONT ARGN name folder)
    list(APPEND names cornu_${name})
    set_property(GLOBAL PROPERTY cornu_folder_names "${names}")
    add_subdirectory(${folder})
  endwhile()
endfunction()

# Replaces sources by files that include thirty of them each, so that the cost of headers is paid
# once. Their text names no folder of this machine, so that a compiler cache recognizes them in any
# checkout. (CMake's own UNITY_BUILD writes whole paths.)
function(_cornu_unite result target)
  set(alone "")
  set(together "")
  foreach(source IN LISTS ARGN)
    # Highway compiles these once for each instruction set, by including them again.
    file(STRINGS "${source}" again REGEX "include <hwy/foreach_target.h>" LIMIT_COUNT 1)
    if(again)
      list(APPEND alone "${source}")
    else()
      list(APPEND together "${source}")
    endif()
  endforeach()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(number 0)
  while(together)
    list(SUBLIST together 0 30 some)
    list(REMOVE_ITEM together ${some})
    list(TRANSFORM some REPLACE "(.+)" "#include \"${folder}/\\1\"\n")
    list(JOIN some "" text)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cc")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
    list(APPEND alone "${file}")
    math(EXPR number "${number} + 1")
  endwhile()
  set(${result} "${alone}" PARENT_SCOPE)
endfunction()

# cornu_library(cornu_<folder> [HOT] [DEPENDS cornu_<other folder> ...] [LINK dnnl ...])
# The target of one folder of the library: all sources in it and in the folders below. DEPENDS: the
# folders whose headers it includes. HOT: its code runs in every step or for every element; Release
# builds optimize it fully, and sanitized builds optimize no other folder.
function(cornu_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOT" "" "DEPENDS;LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cornu_library(${target} [HOT] DEPENDS ... LINK ...): "
      "wrong arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  get_property(names GLOBAL PROPERTY cornu_folder_names)
  foreach(name IN LISTS arg_DEPENDS)
    if(NOT name IN_LIST names OR name STREQUAL target)
      message(FATAL_ERROR "${target}: DEPENDS ${name}: not a folder before this one. "
        "The order of folders is in the top CMakeLists.txt.")
    endif()
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.cc)
  list(SORT sources)
  if(CORNU_UNITY)
    _cornu_unite(sources ${target} ${sources})
  endif()
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${cornu_include_dirs})
  if(CORNU_SANITIZE AND NOT arg_HOT)
    target_compile_options(${target} PRIVATE -O0)
  elseif(arg_HOT AND NOT CORNU_SANITIZE AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O1")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  cornu_warnings(${target})
  cornu_link(${target} ${CORNU_PUBLIC_DEPENDENCIES} ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY cornu_objects ${target})
  set_property(GLOBAL APPEND PROPERTY cornu_links ${cornu_keys})
endfunction()

# Adds the objects of all folders to the target, and what they need. Sets cornu_keys.
function(_cornu_add_objects target)
  get_property(objects GLOBAL PROPERTY cornu_objects)
  get_property(links GLOBAL PROPERTY cornu_links)
  list(REMOVE_DUPLICATES links)
  list(REMOVE_ITEM links ${CORNU_PUBLIC_DEPENDENCIES} ${CORNU_HEADER_ONLY_DEPENDENCIES})
  foreach(object IN LISTS objects)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  cornu_link(${target} ${links})
  set(cornu_keys "${cornu_keys}" PARENT_SCOPE)
endfunction()

# cornu_contain(<target>): links the library's objects into the target, also where cornu::cornu is a
# shared library: for programs that replace functions which the library calls (--wrap).
function(cornu_contain target)
  get_target_property(type cornu TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    _cornu_add_objects(${target})
    target_link_options(${target} PRIVATE "LINKER:--as-needed")  # else it is loaded, too
  endif()
endfunction()

# Adds the library `cornu` (cornu::cornu), made of all folders, and its installation.
function(cornu_assemble)
  add_library(cornu)
  add_library(cornu::cornu ALIAS cornu)
  set_target_properties(cornu PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_compile_features(cornu PUBLIC cxx_std_20)
  set(public "${PROJECT_SOURCE_DIR}/cmake/public_headers.cmake")
  if(PROJECT_IS_TOP_LEVEL)
    set(include_dirs ${cornu_include_dirs})
  else()
    execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
      "-DOUTPUT=${cornu_copied_headers}" -P "${public}" COMMAND_ERROR_IS_FATAL ANY)
    set(include_dirs "${cornu_copied_headers}")
  endif()
  target_include_directories(cornu PUBLIC
    "$<BUILD_INTERFACE:${include_dirs}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  foreach(name IN LISTS CORNU_PUBLIC_DEPENDENCIES)
    cornu_find_dependency(${name} found)
    target_link_libraries(cornu PUBLIC ${found})
  endforeach()
  _cornu_add_objects(cornu)

  _cornu_install(${CORNU_PUBLIC_DEPENDENCIES} ${cornu_keys})
endfunction()

# Installs the library, the headers and the CMake package.
function(_cornu_install)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/cornu")
  install(TARGETS cornu EXPORT cornuTargets)
  install(EXPORT cornuTargets NAMESPACE cornu:: DESTINATION "${package_dir}")
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\"
      \"-DOUTPUT=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\"
      -P \"${PROJECT_SOURCE_DIR}/cmake/public_headers.cmake\" COMMAND_ERROR_IS_FATAL ANY)")

  include(CMakePackageConfigHelpers)
  get_target_property(type cornu TYPE)
  set(cornu_dependencies ${ARGN})  # whoever links a static library links all it needs
  if(type STREQUAL "SHARED_LIBRARY")
    set(cornu_dependencies ${CORNU_PUBLIC_DEPENDENCIES})
  endif()
  list(JOIN cornu_dependencies " " cornu_dependencies)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/cornuConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/cornuConfig.cmake" INSTALL_DESTINATION "${package_dir}"
    PATH_VARS CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/cornuConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/cornuConfig.cmake"
    "${PROJECT_BINARY_DIR}/cornuConfigVersion.cmake" DESTINATION "${package_dir}")
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake"
    DESTINATION "${package_dir}" RENAME cornuDependencies.cmake)
endfunction()

# Adds each folder under `parent` that has a CMakeLists.txt.
function(cornu_add_each parent)
  file(GLOB lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${parent}/*/CMakeLists.txt")
  foreach(list IN LISTS lists)
    get_filename_component(folder "${list}" DIRECTORY)
    add_subdirectory("${folder}")
  endforeach()
endfunction()

function(_cornu_program target output)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STANDALONE" "" "SOURCES;LINK")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "${target}: expected SOURCES ... [LINK ...], "
      "got also: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${target} ${arg_SOURCES})
  if(arg_STANDALONE)
    target_include_directories(${target} PRIVATE ${cornu_include_dirs})
    cornu_link(${target} fmt)
  else()
    target_link_libraries(${target} PRIVATE cornu::cornu)
  endif()
  cornu_warnings(${target})
  cornu_link(${target} ${arg_LINK})
  get_filename_component(folder "${output}" DIRECTORY)
  get_filename_component(name "${output}" NAME)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
endfunction()

# cornu_app(<name> [STANDALONE] SOURCES main.cc ... [LINK cli11 ...]): target app_<name>, file
# bin/<name>. STANDALONE: without the library.
function(cornu_app name)
  _cornu_program(app_${name} bin/${name} ${ARGN})
endfunction()

# cornu_benchmark(<name> SOURCES x.cc ... [LINK ...]): target bench_<name>, with Google Benchmark.
function(cornu_benchmark name)
  _cornu_program(bench_${name} bin/bench_${name} ${ARGN})
  cornu_link(bench_${name} benchmark)
endfunction()

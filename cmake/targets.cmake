# How folders declare themselves.
include_guard(GLOBAL)

# "cornu/x/y.h" is the one path of a header, in the tree and installed: here are the folders x.
set(CORNU_HEADER_FOLDERS
  core=framework/core graph=framework/graph ops=framework/ops autodiff=framework/autodiff
  strategy=framework/strategy backends=framework/backends model=framework/model
  saving=framework/saving train=framework/train layers=layers optimizers=optimizers data=data
  distribute=distribute applications=applications)

set(cornu_include_dir "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${cornu_include_dir}/cornu")
foreach(pair IN LISTS CORNU_HEADER_FOLDERS ITEMS cornu.h=framework/cornu.h
    eigen.h=framework/eigen.h)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 name)
  list(GET pair 1 folder)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${cornu_include_dir}/cornu/${name}" SYMBOLIC)
endforeach()

# A library that one folder found is there for all.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# Links external libraries, by the names of dependencies.cmake, and any other target there is.
# Sets cornu_keys: their names in the table.
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

# cornu_folders(<name> <folder> ...): adds the folders that have a CMakeLists.txt, in this order.
function(cornu_folders)
  set(names "")
  while(ARGN)
    list(POP_FRONT ARGN name folder)
    list(APPEND names cornu_${name})
    set_property(GLOBAL PROPERTY cornu_folder_names "${names}")
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory(${folder})
    endif()
  endwhile()
endfunction()

# cornu_library(cornu_<folder> SOURCES a.cc ... [DEPENDS cornu_<other folder> ...] [LINK dnnl ...])
# The target of one folder of the library. DEPENDS: the folders whose headers it includes.
function(cornu_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "cornu_library(${target} SOURCES ... DEPENDS ... LINK ...): "
      "wrong arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  get_property(names GLOBAL PROPERTY cornu_folder_names)
  foreach(name IN LISTS arg_DEPENDS)
    if(NOT name IN_LIST names OR name STREQUAL target)
      message(FATAL_ERROR "${target}: DEPENDS ${name}: not a folder before this one. "
        "The order of folders is in the top CMakeLists.txt.")
    endif()
  endforeach()

  add_library(${target} OBJECT ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${cornu_include_dir}")
  cornu_warnings(${target})
  cornu_link(${target} ${CORNU_PUBLIC_DEPENDENCIES} ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY cornu_objects ${target})
  set_property(GLOBAL APPEND PROPERTY cornu_links ${cornu_keys})
endfunction()

# The library `cornu` (cornu::cornu) made of all folders, and its installation.
function(cornu_assemble)
  get_property(objects GLOBAL PROPERTY cornu_objects)
  get_property(links GLOBAL PROPERTY cornu_links)
  list(REMOVE_DUPLICATES links)
  list(REMOVE_ITEM links ${CORNU_PUBLIC_DEPENDENCIES} ${CORNU_HEADER_ONLY_DEPENDENCIES})

  add_library(cornu)
  add_library(cornu::cornu ALIAS cornu)
  set_target_properties(cornu PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_compile_features(cornu PUBLIC cxx_std_20)
  target_include_directories(cornu PUBLIC
    "$<BUILD_INTERFACE:${cornu_include_dir}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  foreach(object IN LISTS objects)
    target_sources(cornu PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  foreach(name IN LISTS CORNU_PUBLIC_DEPENDENCIES)
    cornu_find_dependency(${name} found)
    target_link_libraries(cornu PUBLIC ${found})
  endforeach()
  cornu_link(cornu ${links})

  _cornu_install(${CORNU_PUBLIC_DEPENDENCIES} ${links})
endfunction()

# Library, headers and CMake package. The backends' headers are nobody's business outside.
function(_cornu_install)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/cornu")
  install(TARGETS cornu EXPORT cornuTargets)
  install(EXPORT cornuTargets NAMESPACE cornu:: DESTINATION "${package_dir}")
  install(FILES "${PROJECT_SOURCE_DIR}/framework/cornu.h" "${PROJECT_SOURCE_DIR}/framework/eigen.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/cornu" OPTIONAL)
  foreach(pair IN LISTS CORNU_HEADER_FOLDERS)
    string(REPLACE "=" ";" pair "${pair}")
    list(GET pair 0 name)
    list(GET pair 1 folder)
    if(NOT name STREQUAL "backends" AND IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
      install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/cornu/${name}" FILES_MATCHING PATTERN "*.h")
    endif()
  endforeach()

  include(CMakePackageConfigHelpers)
  get_target_property(type cornu TYPE)
  set(cornu_dependencies ${ARGN})  # whoever links a static library links all it needs
  if(type STREQUAL "SHARED_LIBRARY")
    set(cornu_dependencies ${CORNU_PUBLIC_DEPENDENCIES})
  endif()
  list(JOIN cornu_dependencies " " cornu_dependencies)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/cornuConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/cornuConfig.cmake" INSTALL_DESTINATION "${package_dir}")
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
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LINK")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "${target}: expected SOURCES ... [LINK ...], "
      "got also: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE cornu::cornu)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  cornu_warnings(${target})
  cornu_link(${target} ${arg_LINK})
  get_filename_component(folder "${output}" DIRECTORY)
  get_filename_component(name "${output}" NAME)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
endfunction()

# cornu_app(<name> SOURCES main.cc ... [LINK cli11 ...]): target app_<name>, file bin/<name>.
function(cornu_app name)
  _cornu_program(app_${name} bin/${name} ${ARGN})
endfunction()

# cornu_benchmark(<name> SOURCES x.cc ... [LINK ...]): target bench_<name>, with Google Benchmark.
function(cornu_benchmark name)
  _cornu_program(bench_${name} bin/bench_${name} ${ARGN})
  cornu_link(bench_${name} benchmark)
endfunction()

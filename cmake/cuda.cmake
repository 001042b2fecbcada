# Finds the dependencies of the library for NVIDIA GPUs: CUDA's toolkit, cuDNN and, if available,
# NCCL. Nothing is linked: the library loads what it needs, from the folders found here or from the
# system's search path.
#
# Sets cornu_cuda (whether the library is built), cornu_cuda_folders (the folders of the libraries),
# and the target cornu_cuda_toolkit with the headers.
include_guard(GLOBAL)

set(CORNU_CUDA AUTO CACHE STRING "Build what runs on NVIDIA GPUs: AUTO (where CUDA is found), ON or OFF")
set_property(CACHE CORNU_CUDA PROPERTY STRINGS AUTO ON OFF)

function(_cornu_find_cuda missing)
  find_package(CUDAToolkit 13.0 QUIET)
  if(NOT CUDAToolkit_FOUND)
    set(${missing} "the CUDA toolkit, 13.0 or newer" PARENT_SCOPE)
    return()
  endif()
  find_path(CORNU_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDNN_PATH
    PATH_SUFFIXES include)
  find_path(CORNU_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV NCCL_HOME
    PATH_SUFFIXES include)
  set(folders "")
  foreach(library IN ITEMS nvrtc cublasLt cudnn nccl)
    find_library(CORNU_${library}_LIBRARY NAMES ${library} lib${library}.so.9 lib${library}.so.2
      HINTS ${CUDAToolkit_LIBRARY_DIR} ENV CUDNN_PATH ENV NCCL_HOME PATH_SUFFIXES lib lib64)
    mark_as_advanced(CORNU_${library}_LIBRARY)
    if(CORNU_${library}_LIBRARY)
      get_filename_component(folder "${CORNU_${library}_LIBRARY}" DIRECTORY)
      list(APPEND folders "${folder}")
    endif()
  endforeach()
  mark_as_advanced(CORNU_CUDNN_INCLUDE_DIR CORNU_NCCL_INCLUDE_DIR)
  list(REMOVE_DUPLICATES folders)
  if(NOT CORNU_nvrtc_LIBRARY)
    set(${missing} "NVRTC, CUDA's compiler as a library" PARENT_SCOPE)
  elseif(NOT CORNU_cublasLt_LIBRARY)
    set(${missing} "cuBLASLt" PARENT_SCOPE)
  elseif(NOT CORNU_CUDNN_INCLUDE_DIR OR NOT CORNU_cudnn_LIBRARY)
    set(${missing} "cuDNN 9 (in a folder of its own: name it in CUDNN_PATH)" PARENT_SCOPE)
  else()
    file(STRINGS "${CORNU_CUDNN_INCLUDE_DIR}/cudnn_version.h" version REGEX "define CUDNN_MAJOR 9")
    if(NOT version)
      set(${missing} "cuDNN 9: ${CORNU_CUDNN_INCLUDE_DIR} has another version" PARENT_SCOPE)
      return()
    endif()
    set(${missing} "" PARENT_SCOPE)
    set(cornu_cuda_folders "${folders}" PARENT_SCOPE)
    add_library(cornu_cuda_toolkit INTERFACE)
    target_include_directories(cornu_cuda_toolkit SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS}
      "${CORNU_CUDNN_INCLUDE_DIR}" "$<$<BOOL:${CORNU_NCCL_INCLUDE_DIR}>:${CORNU_NCCL_INCLUDE_DIR}>")
  endif()
endfunction()

set(cornu_cuda FALSE)
if(CORNU_CUDA)
  _cornu_find_cuda(missing)
  if(NOT missing)
    set(cornu_cuda TRUE)
    if(NOT CORNU_NCCL_INCLUDE_DIR)
      message(STATUS "Without NCCL: GPUs will communicate through the host's memory")
    endif()
  elseif(CORNU_CUDA STREQUAL "AUTO")
    message(STATUS "Without NVIDIA GPUs: not found: ${missing}")
  else()
    message(FATAL_ERROR "CORNU_CUDA is ON, but this was not found: ${missing}. "
      "Install it, or set CORNU_CUDA to OFF.")
  endif()
endif()

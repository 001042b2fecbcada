# Copies the public headers of the tree SOURCE into OUTPUT/cornu, for programs elsewhere. Include
# paths in the copies begin with "cornu/", so that they can't refer to a program's own headers:
# "layers/core/dense.h" becomes "cornu/layers/core/dense.h".
#
# usage: cmake -DSOURCE=… -DOUTPUT=… -P public_headers.cmake
set(folders framework layers optimizers data distribute applications)
list(JOIN folders "|" any)
file(GLOB_RECURSE headers RELATIVE "${SOURCE}"
  "${SOURCE}/framework/*.h" "${SOURCE}/layers/*.h" "${SOURCE}/optimizers/*.h" "${SOURCE}/data/*.h"
  "${SOURCE}/distribute/*.h" "${SOURCE}/applications/*.h")
list(FILTER headers EXCLUDE REGEX "^framework/backends/")  # internal
foreach(header IN LISTS headers)
  file(READ "${SOURCE}/${header}" text)
  string(REGEX REPLACE "(#[ \t]*include[ \t]*\")((${any})/)" "\\1cornu/\\2" text "${text}")
  string(REGEX REPLACE "^framework/include/cornu/" "" path "${header}")
  file(CONFIGURE OUTPUT "${OUTPUT}/cornu/${path}" CONTENT "${text}" @ONLY)
endforeach()

# The libraries that kcount needs, all in KCOUNT_LIBRARIES.
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

set(KCOUNT_LIBRARIES)

# Finds a library with pkg-config if the distribution ships its files, otherwise searches for the
# header and the library. target: out, what to link, or empty if it is not installed.
# Further arguments: folders in which the header may be, relative to that of other headers.
function(kcount_find_library target module header library)
  set(${target} "" PARENT_SCOPE)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
  endif()
  if(${module}_FOUND)
    set(${target} PkgConfig::${module} PARENT_SCOPE)
    return()
  endif()
  find_path(${module}_HEADER ${header} PATH_SUFFIXES ${ARGN})
  find_library(${module}_LIBRARY ${library})
  if(${module}_HEADER AND ${module}_LIBRARY)
    add_library(kcount_${module} INTERFACE)
    target_include_directories(kcount_${module} SYSTEM INTERFACE ${${module}_HEADER})
    target_link_libraries(kcount_${module} INTERFACE ${${module}_LIBRARY})
    set(${target} kcount_${module} PARENT_SCOPE)
  endif()
endfunction()

function(kcount_library module header library package)
  kcount_find_library(found ${module} ${header} ${library})
  if(NOT found)
    message(FATAL_ERROR "${module} not found; on Debian and Ubuntu: apt-get install ${package}")
  endif()
  set(KCOUNT_LIBRARIES ${KCOUNT_LIBRARIES} ${found} PARENT_SCOPE)
endfunction()

kcount_library(htslib htslib/sam.h hts libhts-dev)
kcount_library(libdeflate libdeflate.h deflate libdeflate-dev)
kcount_library(libisal isa-l/igzip_lib.h isal libisal-dev)
kcount_library(libzstd zstd.h zstd libzstd-dev)
kcount_library(bzip2 bzlib.h bz2 libbz2-dev)
kcount_library(liblzma lzma.h lzma liblzma-dev)
kcount_library(libxxhash xxhash.h xxhash libxxhash-dev)
kcount_library(zlib zlib.h z zlib1g-dev)

# Optional: without it, `kcount model` reports that it is missing.
option(KCOUNT_CMINPACK "Fit models of genomes, if the library cminpack is installed" ON)
set(KCOUNT_WITH_CMINPACK OFF)
if(KCOUNT_CMINPACK)
  kcount_find_library(KCOUNT_CMINPACK_LIBRARY cminpack cminpack.h cminpack cminpack-1)
  if(KCOUNT_CMINPACK_LIBRARY)
    set(KCOUNT_WITH_CMINPACK ON)
  else()
    message(STATUS "kcount: cminpack not found, so `kcount model` cannot fit; on Debian and "
      "Ubuntu: apt-get install libcminpack-dev")
  endif()
endif()

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

# Sets KCOUNT_WITH_NAME and, if that is on, KCOUNT_NAME_LIBRARY, unless the option KCOUNT_NAME is off
# or the library is not installed. without: what the program then lacks.
function(kcount_optional_library name without module header library package)
  set(KCOUNT_WITH_${name} OFF PARENT_SCOPE)
  set(KCOUNT_${name}_LIBRARY "" PARENT_SCOPE)
  if(NOT KCOUNT_${name})
    return()
  endif()
  kcount_find_library(found ${module} ${header} ${library} ${ARGN})
  if(found)
    set(KCOUNT_WITH_${name} ON PARENT_SCOPE)
    set(KCOUNT_${name}_LIBRARY ${found} PARENT_SCOPE)
  else()
    message(STATUS "kcount: ${module} not found, so ${without}; on Debian and Ubuntu: apt-get "
      "install ${package}")
  endif()
endfunction()

option(KCOUNT_CMINPACK "Fit models of genomes, if the library cminpack is installed" ON)
kcount_optional_library(CMINPACK "`kcount model` cannot fit" cminpack cminpack.h cminpack
  libcminpack-dev cminpack-1)
option(KCOUNT_LIBCRYPTO "Put checksums of files into reports, if OpenSSL's libcrypto is installed" ON)
kcount_optional_library(LIBCRYPTO "reports have no checksums" libcrypto openssl/evp.h crypto
  libssl-dev)

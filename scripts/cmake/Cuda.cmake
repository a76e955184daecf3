# Enable the CUDA language if possible: sets KCOUNT_WITH_CUDA and CMAKE_CUDA_ARCHITECTURES.
include(CheckLanguage)

set(KCOUNT_WITH_CUDA OFF)
if(KCOUNT_CUDA STREQUAL "AUTO" OR KCOUNT_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(KCOUNT_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(KCOUNT_NVCC)
      set(ENV{CUDACXX} ${KCOUNT_NVCC})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(KCOUNT_WITH_CUDA ON)
  elseif(NOT KCOUNT_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "KCOUNT_CUDA=ON, but no nvcc that works was found; put it on the PATH or set CUDACXX")
  endif()
endif()

if(NOT KCOUNT_WITH_CUDA)
  message(STATUS "kcount: CUDA is off (KCOUNT_CUDA=${KCOUNT_CUDA}); the CPU engine alone is built")
  return()
endif()

enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.3) # no atomicCAS of 128 bits; CUB of 12.1 cannot sort such keys
  set(KCOUNT_WITH_CUDA OFF)
  set(kind FATAL_ERROR)
  if(KCOUNT_CUDA STREQUAL "AUTO")
    set(kind WARNING)
  endif()
  message(${kind} "kcount: CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old; without CUDA 12.3 or later, \
the CPU engine alone can be built (-DKCOUNT_CUDA=OFF)")
  return()
endif()
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

# All architectures that a release supports, and PTX for future ones.
set(RELEASE_ARCHS 80-real 86-real 89-real 90)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  set(RELEASE_ARCHS 80-real 86-real 89-real 90-real 100 120)
endif()

# The architectures of the available devices, such as "90-real".
function(find_device_archs result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
  set(archs "")
  if(NOT failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
    foreach(capability IN LISTS capabilities)
      string(REPLACE "." "" arch "${capability}")
      list(APPEND archs ${arch}-real)
    endforeach()
    list(REMOVE_DUPLICATES archs)
  endif()
  set(${result} "${archs}" PARENT_SCOPE)
endfunction()

set(found "")
set(CMAKE_CUDA_ARCHITECTURES ${KCOUNT_CUDA_ARCHS})
if(KCOUNT_CUDA_ARCHS STREQUAL "all")
  set(CMAKE_CUDA_ARCHITECTURES ${RELEASE_ARCHS})
elseif(NOT KCOUNT_CUDA_ARCHS)
  find_device_archs(CMAKE_CUDA_ARCHITECTURES)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80)
    set(found "no device found, ")
  endif()
endif()
# "90-real" -> "9.0"
string(REGEX REPLACE "-[a-z]+" "" capabilities "${CMAKE_CUDA_ARCHITECTURES}")
string(REGEX REPLACE "([0-9])(;|$)" ".\\1\\2" capabilities "${capabilities}")
string(REPLACE ";" ", " capabilities "${capabilities}")
message(STATUS "kcount: CUDA ${CMAKE_CUDA_COMPILER_VERSION}: ${found}building for compute capability \
${capabilities}; others: docs/install.md")

# Called in a folder of tests or benchmarks, for its targets: what is installed is never built this way.
# nvcc optimizes for the device whatever -O says, which is for the host's code.
macro(kcount_compile_quickly)
  if(KCOUNT_QUICK_TESTS)
    string(REGEX REPLACE "-O[23]" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
    endif()
  endif()
endmacro()

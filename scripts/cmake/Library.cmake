# libkcount as a shared library, which exports only what include/kcount.h declares, and as a static
# library. Both contain only the CPU engine, and no MPI, even if the programs are built with more;
# the CUDA engine is a plug-in (Plugin.cmake).
set(KCOUNT_LIBRARY_SOURCES $<TARGET_OBJECTS:kc_common> ranks/no_mpi.c gpu/plugin.c)
set(symbols ${CMAKE_SOURCE_DIR}/scripts/cmake/libkcount.map)
add_library(kcount_shared SHARED ${KCOUNT_LIBRARY_SOURCES})
add_library(kcount_static STATIC ${KCOUNT_LIBRARY_SOURCES})
set_target_properties(kcount_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0
  LINK_DEPENDS ${symbols})
target_link_options(kcount_shared PRIVATE LINKER:--version-script=${symbols} LINKER:--gc-sections)
foreach(library kcount_shared kcount_static)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME kcount EXPORT_NAME kcount
    POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_include_directories(${library} PRIVATE ${CMAKE_SOURCE_DIR}
    INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE ${KCOUNT_COMMON_LIBRARIES} Threads::Threads m ${CMAKE_DL_LIBS})
endforeach()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library) # tests install only this component
install(FILES include/kcount.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS kcount_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kcount_shared EXPORT kcount LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# What find_package(kcount) finds: the target kcount::kcount.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/kcount)
install(EXPORT kcount NAMESPACE kcount:: FILE kcountConfig.cmake DESTINATION ${package_folder})
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kcountConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kcountConfigVersion.cmake DESTINATION ${package_folder})

# kcount.pc. For static linking, it names the libraries that kcount needs, not their .pc files,
# because Debian's htslib.pc then requires .pc files of packages that libhts-dev does not depend on.
file(RELATIVE_PATH KCOUNT_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" KCOUNT_PC_PREFIX ${KCOUNT_PC_PREFIX})
foreach(folder LIBDIR INCLUDEDIR) # which may have been given as absolute paths
  file(RELATIVE_PATH KCOUNT_PC_${folder} ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_${folder}})
endforeach()
set(KCOUNT_PC_LIBS)
foreach(library ${KCOUNT_COMMON_LIBRARIES})
  string(REGEX REPLACE "^(PkgConfig::|kcount_)" "" module ${library})
  if(${module}_LIBRARIES)
    string(APPEND KCOUNT_PC_LIBS " -l${${module}_LIBRARIES}")
  else()
    get_filename_component(name ${${module}_LIBRARY} NAME_WE)
    string(REGEX REPLACE "^lib" " -l" name ${name})
    string(APPEND KCOUNT_PC_LIBS ${name})
  endif()
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/scripts/cmake/kcount.pc.in ${CMAKE_BINARY_DIR}/kcount.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/kcount.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
unset(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME)

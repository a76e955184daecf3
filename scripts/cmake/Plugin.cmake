# The CUDA engine as a plug-in of libkcount, and of programs without the engine (gpu/plugin.h). It
# contains its own copy of all kcount code that it needs, and exports one function.
set_target_properties(kc kcmaps kcask PROPERTIES POSITION_INDEPENDENT_CODE ON
  C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
set(symbols ${CMAKE_SOURCE_DIR}/scripts/cmake/libkcount-cuda.map)
add_library(kcount_cuda SHARED gpu/plugin_door.c)
target_link_libraries(kcount_cuda PRIVATE kc)
target_link_options(kcount_cuda PRIVATE LINKER:--version-script=${symbols} LINKER:--gc-sections
  LINKER:--as-needed LINKER:--no-undefined)
set_target_properties(kcount_cuda PROPERTIES OUTPUT_NAME kcount-cuda VERSION ${PROJECT_VERSION}
  SOVERSION 0 LINK_DEPENDS ${symbols})
install(TARGETS kcount_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cuda
  NAMELINK_SKIP)

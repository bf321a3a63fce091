# lakeflow_add_plugin(<name> SOURCES file...): a plugin <name>.so that exports one symbol, has no rpath and no undefined symbol.
# The same call serves plugins of this tree and of a vendor's own (find_package(lakeflow-sdk)).
include_guard(GLOBAL)

function(lakeflow_add_plugin name)
  cmake_parse_arguments(P "" "" "SOURCES" ${ARGN})
  if(NOT P_SOURCES OR P_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lakeflow_add_plugin(<name> SOURCES file...): '${ARGN}'")
  endif()
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  # The target has a prefix of its own, so that a plugin may be called like a library of the tree.
  set(target plugin_${name})
  add_library(${target} MODULE ${P_SOURCES})
  target_link_libraries(${target} PRIVATE lakeflow::sdk)
  if(TARGET lakeflow_options)
    target_link_libraries(${target} PRIVATE lakeflow_options)
  endif()
  if(NOT DEFINED CMAKE_LIBRARY_OUTPUT_DIRECTORY)
    set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  endif()
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME ${name}
               PREFIX ""
               SUFFIX ".so"
               C_STANDARD 11
               CXX_STANDARD 20
               CXX_STANDARD_REQUIRED ON
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               SKIP_BUILD_RPATH ON
               SKIP_INSTALL_RPATH ON
               LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}
               LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  # A sanitizer's runtime comes with the executable: its symbols are undefined in a library, by design.
  if(NOT LAKEFLOW_SANITIZE OR LAKEFLOW_SANITIZE STREQUAL "none")
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  if(DEFINED CMAKE_INSTALL_LIBDIR)
    set(folder ${CMAKE_INSTALL_LIBDIR}/lakeflow/plugins)
  else()
    set(folder lib/lakeflow/plugins)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${folder} COMPONENT plugins)
endfunction()

# Warnings, sanitizers and the few functions that every folder's CMakeLists.txt uses.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
if(LAKEFLOW_TESTS)
  find_package(Boost 1.81 REQUIRED COMPONENTS unit_test_framework)
endif()

# Everything that our own targets have in common. Plugins and tests get it too.
add_library(lakeflow_options INTERFACE)
target_compile_options(lakeflow_options INTERFACE -Wall -Wextra -Wpedantic)
if(LAKEFLOW_WERROR)
  target_compile_options(lakeflow_options INTERFACE -Werror)
endif()
target_compile_definitions(lakeflow_options INTERFACE BOOST_DLL_USE_STD_FS BOOST_ALL_NO_LIB)
if(LAKEFLOW_SANITIZE STREQUAL "address")
  target_compile_options(lakeflow_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(lakeflow_options INTERFACE -fsanitize=address,undefined)
elseif(LAKEFLOW_SANITIZE STREQUAL "thread")
  target_compile_options(lakeflow_options INTERFACE -fsanitize=thread -Wno-tsan -fno-omit-frame-pointer)
  target_link_options(lakeflow_options INTERFACE -fsanitize=thread)
elseif(NOT LAKEFLOW_SANITIZE STREQUAL "none")
  message(FATAL_ERROR "LAKEFLOW_SANITIZE=${LAKEFLOW_SANITIZE}: use none, address or thread")
endif()

# lakeflow_sources(<target> file...): adds files of the calling folder to a library that another folder defines.
function(lakeflow_sources target)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(${target} PRIVATE ${ARGN})
endfunction()

# lakeflow_heavy(file...): translation units full of Beast or Boost.JSON templates. With optimisation and UBSan one of them takes
# two minutes and 2.7 GB, so the debug preset compiles them with ASan only and at -O0.
function(lakeflow_heavy)
  if(LAKEFLOW_SANITIZE STREQUAL "address")
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_source_files_properties(${ARGN} DIRECTORY ${CMAKE_SOURCE_DIR}/host ${CMAKE_CURRENT_SOURCE_DIR}
      PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=undefined")
  endif()
endfunction()

# lakeflow_test(NAME n SOURCES f... LIBRARIES l... [LABELS l...] [ENVIRONMENT k=v...] [TIMEOUT s]): a Boost.Test executable under ctest.
function(lakeflow_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT LAKEFLOW_TESTS)
    return()
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBRARIES} lakeflow_options Boost::unit_test_framework)
  target_compile_definitions(${T_NAME} PRIVATE BOOST_TEST_DYN_LINK BOOST_TEST_MODULE=${T_NAME})
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} --log_level=test_suite --report_level=short)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" ENVIRONMENT "${T_ENVIRONMENT}" TIMEOUT ${T_TIMEOUT})
endfunction()

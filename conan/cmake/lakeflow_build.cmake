# Warnings, sanitizers, dependencies and the few functions that every folder's CMakeLists.txt uses.

# Downloads and what was built from them live outside the build tree; conan/setup.sh fills this folder.
if(DEFINED ENV{LAKEFLOW_CACHE})
  set(LAKEFLOW_CACHE $ENV{LAKEFLOW_CACHE})
else()
  set(LAKEFLOW_CACHE $ENV{HOME}/.cache/lakeflow)
endif()

# ccache sees paths below the source folder as relative ones, so a clone in another folder finds what this one compiled.
find_program(LAKEFLOW_CCACHE_PROGRAM ccache)
mark_as_advanced(LAKEFLOW_CCACHE_PROGRAM)
if(LAKEFLOW_CCACHE AND LAKEFLOW_CCACHE_PROGRAM)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER
          ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LAKEFLOW_CCACHE_PROGRAM})
    endif()
  endforeach()
endif()

# Sanitizers cover every target of the tree, so that no object is left out by a forgotten line.
if(LAKEFLOW_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
  add_link_options(-fsanitize=address,undefined)
elseif(LAKEFLOW_SANITIZE STREQUAL "thread")
  # gcc warns of every atomic_thread_fence under -fsanitize=thread; the one that matters here is inside oneTBB's headers.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=thread)
  file(GLOB LAKEFLOW_TBB_TSAN ${LAKEFLOW_CACHE}/tbb-tsan-*/lib/cmake/TBB)
  if(NOT LAKEFLOW_TBB_TSAN)
    message(FATAL_ERROR "LAKEFLOW_SANITIZE=thread needs a oneTBB built with ThreadSanitizer: run conan/setup.sh --tsan")
  endif()
  list(GET LAKEFLOW_TBB_TSAN -1 TBB_DIR)
elseif(NOT LAKEFLOW_SANITIZE STREQUAL "none")
  message(FATAL_ERROR "LAKEFLOW_SANITIZE=${LAKEFLOW_SANITIZE}: use none, address or thread")
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
if(LAKEFLOW_TESTS)
  find_package(Boost 1.81 REQUIRED COMPONENTS unit_test_framework)
endif()
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(TBB REQUIRED COMPONENTS tbb)
find_package(tomlplusplus REQUIRED)
# libpq alone: CMake's own module asks for the headers of the server too.
find_path(LAKEFLOW_PQ_INCLUDE postgresql/libpq-fe.h REQUIRED)
find_library(LAKEFLOW_PQ_LIBRARY pq REQUIRED)
mark_as_advanced(LAKEFLOW_PQ_INCLUDE LAKEFLOW_PQ_LIBRARY)
find_package(CLI11 REQUIRED)

# Everything that our own targets have in common. Plugins and tests get it too.
add_library(lakeflow_options INTERFACE)
target_compile_options(lakeflow_options INTERFACE -Wall -Wextra -Wpedantic)
if(LAKEFLOW_WERROR)
  target_compile_options(lakeflow_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Both are wrong in gcc 12 at -O2: for std::string's operator+ (GCC bug 105651), and for the move of a std::variant, which it
  # takes to read the alternatives that are not there. clang 14 and the sanitizers look at the same code.
  target_compile_options(lakeflow_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-maybe-uninitialized>)
endif()
target_compile_definitions(lakeflow_options INTERFACE BOOST_DLL_USE_STD_FS BOOST_ALL_NO_LIB)

# libduckdb.so is loaded at run time; building needs none of it. Where setup.sh has brought it, it lies next to the host and the tests.
if(EXISTS ${LAKEFLOW_CACHE}/duckdb/libduckdb.so)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(folder ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/tests)
    file(CREATE_LINK ${LAKEFLOW_CACHE}/duckdb/libduckdb.so ${folder}/libduckdb.so SYMBOLIC)
  endforeach()
endif()

# The targets that `cmake --build --preset tsan` builds: every test with the label `engine`.
add_custom_target(engine_tests)

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
    # A floor's files belong to a target of host/, and a property of a source holds in the folder of its target.
    set(folders ${CMAKE_CURRENT_SOURCE_DIR})
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/host/")
      list(APPEND folders ${CMAKE_SOURCE_DIR}/host)
    endif()
    set_source_files_properties(${ARGN} DIRECTORY ${folders} PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=undefined")
  endif()
endfunction()

# lakeflow_test(NAME n SOURCES f... LIBRARIES l... [LABELS l...] [ENVIRONMENT k=v...] [TIMEOUT s] [DEPENDS t...]): a Boost.Test
# executable under ctest. The label `engine` puts it into the tsan preset too; DEPENDS names targets that it runs but does not link.
function(lakeflow_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;DEPENDS" ${ARGN})
  if(NOT LAKEFLOW_TESTS)
    return()
  endif()
  # The module's name is defined in one file alone: it also defines main.
  set(main ${CMAKE_CURRENT_BINARY_DIR}/${T_NAME}_main.cpp)
  file(CONFIGURE OUTPUT ${main} CONTENT "#define BOOST_TEST_MODULE @T_NAME@\n#include <boost/test/unit_test.hpp>\n" @ONLY)
  add_executable(${T_NAME} ${T_SOURCES} ${main})
  if(LAKEFLOW_SANITIZE STREQUAL "address")
    # Boost.Test's macros under -O1 with UBSan take longer to compile than what they test: tests keep both sanitizers, at -O0.
    target_compile_options(${T_NAME} PRIVATE -O0)
  endif()
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBRARIES} lakeflow_options Boost::unit_test_framework)
  target_compile_definitions(${T_NAME} PRIVATE BOOST_TEST_DYN_LINK)
  if(T_DEPENDS)
    add_dependencies(${T_NAME} ${T_DEPENDS})
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} --log_level=test_suite --report_level=short)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" ENVIRONMENT "${T_ENVIRONMENT}" TIMEOUT ${T_TIMEOUT})
  if("engine" IN_LIST T_LABELS)
    add_dependencies(engine_tests ${T_NAME})
  endif()
endfunction()

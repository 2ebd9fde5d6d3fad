# Tests by file name; see tests/CMakeLists.txt.
find_package(doctest REQUIRED)

include(ScrmPython)
if(NOT SCRM_PYTHON)
  message(STATUS "No python3 with h5py and numpy: the tests of the program are left out")
endif()

set(SCRM_DATA_DIR ${PROJECT_SOURCE_DIR}/../shared/data CACHE PATH "Where scene, yeast and tmc2007 are; tests skip without")

set(scrm_labels fast slow io threads isa statistical cli mpi python)
# What sanitizers need to know: they stop at the first finding and keep quiet about libraries that are not ours (which the
# thread sanitizer recognises by the stack of an access, so it has to remember many of them).
set(scrm_test_environment
  "ASAN_OPTIONS=detect_leaks=1:halt_on_error=1:allocator_may_return_null=1"
  "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/sanitizers/leak.supp:print_suppressions=0"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:history_size=7:suppressions=${PROJECT_SOURCE_DIR}/cmake/sanitizers/thread.supp")

# Reads "labels: a b" from the first lines of a file.
function(scrm_read_labels file result)
  file(STRINGS ${file} lines LIMIT_COUNT 3)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  if(NOT "${lines}" MATCHES "labels: ([a-z ]+)")
    message(FATAL_ERROR "${file}: no labels in its first lines; write for instance 'labels: fast io'")
  endif()
  string(STRIP "${CMAKE_MATCH_1}" labels)
  string(REPLACE " " ";" labels "${labels}")
  foreach(label IN LISTS labels)
    if(NOT label IN_LIST scrm_labels)
      message(FATAL_ERROR "${file}: label '${label}' is none of ${scrm_labels}")
    endif()
  endforeach()
  set(${result} "${labels}" PARENT_SCOPE)
endfunction()

function(scrm_set_test_properties test labels)
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT "${scrm_test_environment};${ARGN}")
endfunction()

# What the thread sanitizer has to look at.
add_custom_target(thread_tests)

# How every test is compiled: it sees what its folder sees, private headers and libraries included. What is tested is
# optimised, the tests themselves are not: that would take longer than they run.
function(scrm_compile_as_test target folder)
  target_link_libraries(${target} PRIVATE scrm::${folder} doctest::doctest Eigen3::Eigen fmt::fmt TBB::tbb hwy::hwy
                        tomlplusplus::tomlplusplus CLI11::CLI11 nlohmann_json::nlohmann_json Threads::Threads
                        scrm_found::hdf5)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/kernels/src ${PROJECT_SOURCE_DIR}/io/src
                             ${PROJECT_SOURCE_DIR}/engine/src ${PROJECT_SOURCE_DIR}/experiments/src
                             ${PROJECT_SOURCE_DIR}/tests)
  target_include_directories(${target} SYSTEM PRIVATE ${SCRM_RANDOM123_INCLUDE})
  scrm_set_arithmetic(${target})
  scrm_set_warnings(${target})
  scrm_set_sanitizers(${target})
  if(SCRM_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# Where headers are precompiled, doctest is too, once for all tests: for a program without any, since what is compiled for
# a library cannot be used in a program.
if(SCRM_ROOMS_AT_ONCE)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp CONTENT "")
  add_executable(test_headers ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp $<TARGET_OBJECTS:doctest_main>)
  scrm_compile_as_test(test_headers experiments)
  target_precompile_headers(test_headers PRIVATE <doctest/doctest.h> ${scrm_standard_headers})
endif()

function(scrm_unit_test folder file)
  get_filename_component(name ${file} NAME_WE)
  set(target ${folder}_${name})
  add_executable(${target} ${file} $<TARGET_OBJECTS:doctest_main>)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  scrm_compile_as_test(${target} ${folder})
  if(SCRM_ROOMS_AT_ONCE)
    target_precompile_headers(${target} REUSE_FROM test_headers)
  endif()
  scrm_read_labels(${file} labels)
  if(SCRM_SANITIZE AND NOT fast IN_LIST labels)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)  # sanitizers take the fast ones alone
  endif()
  if(threads IN_LIST labels)
    add_dependencies(thread_tests ${target})
  endif()
  # Long arithmetic takes minutes under the thread sanitizer and has nothing to show it: outside the rooms whose work is
  # threads, the cases alone run that have them in their names.
  if(SCRM_SANITIZE STREQUAL "thread" AND NOT file MATCHES "/(pass|schedule|ranks)/")
    set(cases "--test-case=*thread*")
  else()
    set(cases)
  endif()
  add_test(NAME ${folder}/${name} COMMAND ${target} ${cases})
  scrm_set_test_properties(${folder}/${name} "${labels}" "SCRM_DATA_DIR=${SCRM_DATA_DIR}")
endfunction()

function(scrm_program_test file)
  if(NOT SCRM_PYTHON)
    return()
  endif()
  get_filename_component(name ${file} NAME_WE)
  scrm_read_labels(${file} labels)
  if(mpi IN_LIST labels AND NOT TARGET scrm-mpi)
    return()
  endif()
  add_test(NAME cli/${name} COMMAND ${SCRM_PYTHON} ${file})
  scrm_set_test_properties(cli/${name} "${labels}" "SCRM_PROGRAM=$<TARGET_FILE:scrm>"
    "SCRM_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "SCRM_DATA_DIR=${SCRM_DATA_DIR}" "SCRM_SANITIZE=${SCRM_SANITIZE}"
    PYTHONDONTWRITEBYTECODE=1 "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/cli")
endfunction()

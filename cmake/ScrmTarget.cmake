# scrm_library(NAME [LINKS...] [PRIVATE_LINKS...] [HEADERS...]): one folder, one target scrm::NAME.
# Its public headers are NAME/include, its sources every .cpp below NAME/src, room by room: a new file needs no line here.
# HEADERS are header-only libraries: those who use the installed scrm need not have them. APART are sources that others build.
# With SCRM_ROOMS_AT_ONCE the files of a room are compiled together, which saves about a third of the time from nothing: the
# same headers are read once. Names that a file keeps to itself must then be unique in its room; files of the rooms named after
# ALONE are alike by design (a kind of policy has the same functions as the next) and are compiled one by one.
# LIGHT are rooms, those below them included, that parse options and print: optimised lightly, they take half the time to
# compile and none to run. SETTINGS are compile options and DEFINITIONS definitions of all.
include(ScrmArithmetic)
include(ScrmWarnings)
include(ScrmSanitizers)

# What nearly every file of ours reads of the standard library, a second each time: read once for a target where rooms are
# compiled together, with what is named after PRECOMPILED. In other builds each file reads its own, so that one that forgets
# a header is found there.
set(scrm_standard_headers <algorithm> <array> <atomic> <cmath> <cstdint> <functional> <limits> <memory> <mutex> <numeric>
    <optional> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)

function(scrm_library name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS;HEADERS;APART;ALONE;LIGHT;PRECOMPILED;SETTINGS;DEFINITIONS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp)
  foreach(source IN LISTS ARG_APART)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
  set(light_sources)
  foreach(room IN LISTS ARG_LIGHT)
    set(in_room ${sources})
    list(FILTER in_room INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/src/${room}/")
    list(APPEND light_sources ${in_room})
    list(REMOVE_ITEM sources ${in_room})
  endforeach()
  add_library(scrm_${name} STATIC ${sources})
  add_library(scrm::${name} ALIAS scrm_${name})
  set_target_properties(scrm_${name} PROPERTIES EXPORT_NAME ${name})
  scrm_set_library(scrm_${name} "${sources}")
  if(light_sources)
    # Rooms compiled together have one set of options, so those with another are a target of their own.
    add_library(scrm_${name}_light OBJECT ${light_sources})
    target_sources(scrm_${name} PRIVATE $<TARGET_OBJECTS:scrm_${name}_light>)
    scrm_set_library(scrm_${name}_light "${light_sources}")
    if(NOT SCRM_SANITIZE)
      target_compile_options(scrm_${name}_light PRIVATE -O1)
    endif()
  endif()
endfunction()

# What all objects of a library are compiled with; reads the ARG_… of scrm_library.
function(scrm_set_library target sources)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  foreach(header_library IN LISTS ARG_HEADERS)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${header_library}>)
  endforeach()
  target_compile_options(${target} PRIVATE ${ARG_SETTINGS})
  target_compile_definitions(${target} PRIVATE ${ARG_DEFINITIONS})
  if(SCRM_ROOMS_AT_ONCE)
    scrm_compile_rooms_at_once(${target} "${sources}" "${ARG_ALONE}")
    target_precompile_headers(${target} PRIVATE ${scrm_standard_headers} ${ARG_PRECOMPILED})
  endif()
  scrm_set_arithmetic(${target})
  scrm_set_warnings(${target})
  scrm_set_sanitizers(${target})
endfunction()

# Sources with options of their own are left alone by CMake itself.
function(scrm_compile_rooms_at_once target sources rooms_alone)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS sources)
    get_filename_component(room ${source} DIRECTORY)
    file(RELATIVE_PATH room ${CMAKE_CURRENT_SOURCE_DIR}/src ${room})
    if(NOT room IN_LIST rooms_alone)
      string(MAKE_C_IDENTIFIER "room_${room}" group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()

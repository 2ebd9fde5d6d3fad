# scrm_library(NAME [LINKS...] [PRIVATE_LINKS...] [HEADERS...]): one folder, one target scrm::NAME.
# Its public headers are NAME/include, its sources every .cpp below NAME/src, room by room: a new file needs no line here.
# HEADERS are header-only libraries: those who use the installed scrm need not have them. APART are sources that others build.
include(ScrmArithmetic)
include(ScrmWarnings)
include(ScrmSanitizers)

function(scrm_library name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS;HEADERS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp)
  foreach(source IN LISTS ARG_APART)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
  add_library(scrm_${name} STATIC ${sources})
  add_library(scrm::${name} ALIAS scrm_${name})
  set_target_properties(scrm_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(scrm_${name} PUBLIC cxx_std_20)
  target_include_directories(scrm_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(scrm_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  foreach(header_library IN LISTS ARG_HEADERS)
    target_link_libraries(scrm_${name} PRIVATE $<BUILD_INTERFACE:${header_library}>)
  endforeach()
  scrm_set_arithmetic(scrm_${name})
  scrm_set_warnings(scrm_${name})
  scrm_set_sanitizers(scrm_${name})
endfunction()

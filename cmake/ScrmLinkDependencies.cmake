# The libraries that whoever links scrm links too. Read by the build and, installed, by find_package(scrm), which is to say
# what is missing rather than to stop whoever can do without scrm.
macro(scrm_link_dependency name)
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "scrm")
    find_dependency(${name})
  else()
    find_package(${name} REQUIRED)
  endif()
endmacro()

include(CMakeFindDependencyMacro)
scrm_link_dependency(Threads)
scrm_link_dependency(TBB)
scrm_link_dependency(HWY)
scrm_link_dependency(fmt)
scrm_link_dependency(tomlplusplus)

# scrm_found_library(NAME HEADER LIBRARY... ): scrm_found::NAME, for libraries that bring no package file of their own;
# the first LIBRARY that is there.
macro(scrm_found_library name header)
  find_path(SCRM_${name}_INCLUDE ${header} PATH_SUFFIXES hdf5/serial openblas openblas-pthread)
  find_library(SCRM_${name}_LIBRARY NAMES ${ARGN} NAMES_PER_DIR PATH_SUFFIXES hdf5/serial openblas-pthread)
  mark_as_advanced(SCRM_${name}_INCLUDE SCRM_${name}_LIBRARY)
  if(NOT SCRM_${name}_INCLUDE OR NOT SCRM_${name}_LIBRARY)
    set(scrm_missing "scrm needs ${header} and its library (one of: ${ARGN}); see README, \"Build\"")
    if(NOT CMAKE_FIND_PACKAGE_NAME STREQUAL "scrm")
      message(FATAL_ERROR "${scrm_missing}")
    endif()
    set(scrm_FOUND FALSE)
    set(scrm_NOT_FOUND_MESSAGE "${scrm_missing}")
    return()
  endif()
  if(NOT TARGET scrm_found::${name})
    add_library(scrm_found::${name} UNKNOWN IMPORTED)
    set_target_properties(scrm_found::${name} PROPERTIES IMPORTED_LOCATION ${SCRM_${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${SCRM_${name}_INCLUDE})
  endif()
endmacro()

# The static HDF5 where there is one: the shared one of Debian brings thirty libraries for reading over a network, and
# loading them takes longer than many a command.
scrm_found_library(hdf5 hdf5.h libhdf5_serial.a libhdf5.a hdf5_serial hdf5)
if(SCRM_hdf5_LIBRARY MATCHES "\\.a$")
  find_library(SCRM_sz_LIBRARY NAMES libsz.a sz REQUIRED)
  find_library(SCRM_aec_LIBRARY NAMES libaec.a aec REQUIRED)
  find_library(SCRM_z_LIBRARY NAMES libz.a z REQUIRED)
  mark_as_advanced(SCRM_sz_LIBRARY SCRM_aec_LIBRARY SCRM_z_LIBRARY)
  set_property(TARGET scrm_found::hdf5 PROPERTY INTERFACE_LINK_LIBRARIES ${SCRM_sz_LIBRARY} ${SCRM_aec_LIBRARY}
    ${SCRM_z_LIBRARY} ${CMAKE_DL_LIBS} m)
endif()
scrm_found_library(deflate libdeflate.h deflate)
scrm_found_library(zlib zlib.h libz.a z)
# openblas_config.h rather than cblas.h: a reference BLAS may be installed beside it. Not the serial OpenBLAS: several
# threads may not call it at a time.
scrm_found_library(openblas openblas_config.h openblas)

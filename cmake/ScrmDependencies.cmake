# What scrm is built from. Every name here is a Debian package; see README, "Build".
include(ScrmLinkDependencies)

# Headers only: needed to build scrm, not to use it.
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(FastFloat REQUIRED)
find_path(SCRM_RANDOM123_INCLUDE Random123/philox.h REQUIRED)
find_path(SCRM_LBFGSPP_INCLUDE LBFGSB.h REQUIRED)

# The C interface alone, for scrm-mpi. Sanitizers do not understand MPI's libraries.
set(SCRM_MPI_FOUND OFF)
if(NOT SCRM_BUILD_MPI STREQUAL "OFF" AND NOT SCRM_SANITIZE)
  enable_language(C)
  if(SCRM_BUILD_MPI STREQUAL "AUTO")
    find_package(MPI QUIET COMPONENTS C)
  else()
    find_package(MPI REQUIRED COMPONENTS C)
  endif()
  set(SCRM_MPI_FOUND ${MPI_C_FOUND})
endif()

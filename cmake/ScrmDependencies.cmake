# What scrm is built from. Every name here is a Debian package; see README, "Build".
include(ScrmLinkDependencies)

# Headers only: needed to build scrm, not to use it.
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(FastFloat REQUIRED)
find_path(SCRM_RANDOM123_INCLUDE Random123/philox.h REQUIRED)
find_path(SCRM_LBFGSPP_INCLUDE LBFGSB.h REQUIRED)

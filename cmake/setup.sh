# Shared by quickstart.sh, test.sh and .ci/run: what to install, and how to build. Sourced, never run.

build_packages="cmake ninja-build g++ libtbb-dev libeigen3-dev libopenblas-dev libhdf5-dev libhwy-dev librandom123-dev
  liblbfgspp-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libdeflate-dev zlib1g-dev libfast-float-dev
  doctest-dev libbenchmark-dev"
# The Python module and its tests.
python_packages="pybind11-dev python3-dev python3-pip python3-pandas python3-sklearn python3-tqdm"
test_packages="python3 python3-h5py python3-numpy python3-scipy chromium libxml2-utils libopenmpi-dev openmpi-bin $python_packages"
check_packages="clang-format clang-tidy"

say() {
  if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs those of the packages named that are missing; with nothing missing it needs neither root nor a network.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "No apt-get here: please make sure that the equivalents of these Debian packages are installed"
    echo $*
    return 0
  fi
  local package missing=""
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  say "Installing$missing"
  # An index that cannot be refreshed is no reason to stop: what is missing may be in the one at hand.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q || true
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
}

# build_preset NAME [TARGET...]
build_preset() {
  local preset=$1
  shift
  say "Building ($preset)"
  cmake --preset "$preset" --log-level=WARNING
  cmake --build --preset "$preset" ${1:+--target "$@"}
}

# run_tests PRESET [OPTIONS]: one test more at a time than there are cores, since many of them wait: for programs that are
# killed, for locks, for a browser.
run_tests() {
  local preset=$1
  shift
  ctest --preset "$preset" -j "$(($(nproc) + 1))" "$@"
}

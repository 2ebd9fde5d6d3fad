#include <cstdlib>

#include "ranks/mpi_ranks.hpp"
#include "scrm/experiments/program.hpp"

int main(int argc, char** argv) {
  // mpirun gives ranks a terminal to write to, wherever their output goes in the end.
  setenv("NO_COLOR", "1", 1);
  return scrm::run_program(argc, argv, scrm::start_mpi_ranks);
}

#include "scrm/experiments/program.hpp"

int main(int argc, char** argv) {
  return scrm::run_program(argc, argv);
}

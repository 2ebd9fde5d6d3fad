// labels: fast io
#include "file/descriptor.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/time.h>

#include <cerrno>
#include <string>

#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

int pipe_end = -1;

void write_one(int) {
  static_cast<void>(!::write(pipe_end, "x", 1));
}

}  // namespace

TEST_CASE("descriptor: bytes are written and read at their place, and fewer only at the end") {
  const Folder folder;
  Descriptor file(folder / "bytes", O_RDWR | O_CREAT);
  REQUIRE(file.open());
  CHECK(write_at(file, "hello", 3) == 0);
  CHECK(bytes_of(folder / "bytes") == std::string("\0\0\0hello", 8));
  std::string out(5, '?');
  CHECK(read_at(file, out.data(), 5, 5) == 3);
  CHECK(out == "llo??");
  CHECK(read_at(file, out.data(), 5, 100) == 0);
  CHECK(file.close() == 0);
  CHECK_FALSE(file.open());
  CHECK(file.close() == 0);
  CHECK(write_at(file, "x", 0) == EBADF);
  CHECK(read_at(file, out.data(), 1, 0) == -1);
}

TEST_CASE("descriptor: a disk that is full is an error, not a short file") {
  const Folder folder;
  const Descriptor file(folder / "bytes", O_RDWR | O_CREAT);
  const SmallFiles limit(1000);
  CHECK(write_at(file, std::string(3000, 'x'), 0) == EFBIG);
}

TEST_CASE("descriptor: a signal does not end a read") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor reading(ends[0]), writing(ends[1]);
  pipe_end = ends[1];
  // The handler writes what is waited for; without SA_RESTART the read itself is interrupted.
  struct sigaction action {
  }, before{};
  action.sa_handler = write_one;
  ::sigaction(SIGALRM, &action, &before);
  const itimerval soon{{0, 0}, {0, 20000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  char byte = 0;
  CHECK(read_some(reading, &byte, 1) == 1);
  CHECK(byte == 'x');
  ::sigaction(SIGALRM, &before, nullptr);
}

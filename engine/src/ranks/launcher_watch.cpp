#include "ranks/launcher_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace scrm {
namespace {

// mpirun takes a second or two to end the other ranks. Counted in short waits, so that a machine that was suspended
// meanwhile does not count.
constexpr int kWaits = 24;
constexpr int kWaitMilliseconds = 250;
// From a rank up to its launcher there may be scripts.
constexpr int kAncestors = 8;

using Path = std::array<char, 64>;

struct Launcher {
  pid_t process = -1;
  int descriptor = -1;  // of the process: readable once it has ended, and never another's
  Path errors{};        // where it writes them
};

template <class... Values>
Path path_of(const char* format, Values... values) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), format, values...);
  return path;
}

bool is_launcher(pid_t process) noexcept {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path_of("/proc/%d/exe", process).data(), target.data(), target.size());
  if (length <= 0) return false;
  const std::string_view path(target.data(), static_cast<std::size_t>(length));
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view known : {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prte", "prted"}) {
    if (name == known) return true;
  }
  return false;
}

/// 0 where there is none, or none that may be seen.
pid_t parent_of(pid_t process) noexcept {
  std::array<char, 1024> text{};
  const int file = ::open(path_of("/proc/%d/stat", process).data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  // The name of the program, in brackets, may hold anything.
  const char* after_name = length > 0 ? std::strrchr(text.data(), ')') : nullptr;
  pid_t parent = 0;
  return after_name != nullptr && std::sscanf(after_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

Launcher find_launcher() noexcept {
  Launcher found;
  pid_t process = ::getppid();
  for (int step = 0; step < kAncestors && process > 1; ++step, process = parent_of(process)) {
    if (!is_launcher(process)) continue;
    found.process = process;
    found.descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    found.errors = path_of("/proc/%d/fd/2", process);
    break;
  }
  return found;
}

/// Whether it becomes readable in this time; -1: for as long as it takes.
bool readable(int descriptor, int milliseconds) noexcept {
  pollfd asked{descriptor, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&asked, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// What follows runs in the copy of a process that may have had threads: plain system calls alone.

/// Lets go of all that is the rank's. A process group of its own: the launcher ends those of its ranks.
void leave_rank(int& rank_lives, int& launcher) noexcept {
  ::setpgid(0, 0);
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(ignored, SIG_IGN);
  // Above the numbers that they and the standard streams get, so that none is written over.
  rank_lives = ::fcntl(rank_lives, F_DUPFD, 8);
  launcher = ::fcntl(launcher, F_DUPFD, 8);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) {
    if (::dup2(nothing, standard) < 0) ::close(standard);  // the launcher waits for their end
  }
  rank_lives = ::dup2(rank_lives, 3);
  launcher = ::dup2(launcher, 4);
  ::close_range(5, ~0U, 0);
  ::prctl(PR_SET_NAME, "scrm-watch");
}

[[noreturn]] void watch(int rank_lives, const Launcher& launcher, std::string_view message) noexcept {
  int process = launcher.descriptor;
  leave_rank(rank_lives, process);
  readable(rank_lives, -1);
  char done = 0;
  if (::read(rank_lives, &done, 1) != 0) ::_exit(0);
  for (int wait = 0; wait < kWaits; ++wait) {
    if (readable(process, kWaitMilliseconds)) ::_exit(0);
  }
  const int errors = ::open(launcher.errors.data(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  if (errors >= 0 && ::write(errors, message.data(), message.size()) < 0) ::close(errors);
  ::syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0);
  ::_exit(0);
}

}  // namespace

LauncherWatch::LauncherWatch() noexcept {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank == nullptr) return;
  const Launcher launcher = find_launcher();
  if (launcher.descriptor < 0) return;
  std::array<char, 160> message{};
  std::snprintf(message.data(), message.size(),
                "scrm: error: rank %.10s has died, and its launcher (process %d) did not end within %d seconds; it is "
                "killed now\n",
                rank, launcher.process, kWaits * kWaitMilliseconds / 1000);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) == 0) {
    const pid_t started = ::fork();
    if (started == 0) watch(pipe[0], launcher, message.data());
    ::close(pipe[0]);
    rank_lives_ = pipe[1];
  }
  ::close(launcher.descriptor);
}

void LauncherWatch::finish() noexcept {
  if (rank_lives_ < 0) return;
  const char done = 1;
  // Where it is gone there is nothing to tell.
  static_cast<void>(!::write(rank_lives_, &done, 1));
  ::close(rank_lives_);
  rank_lives_ = -1;
}

}  // namespace scrm

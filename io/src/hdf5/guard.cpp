#include "hdf5/guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "file/descriptor.hpp"
#include "file/fields.hpp"

namespace scrm {
namespace {

// CPU time that HDF5 may spend on a query, and what it may spend besides on every byte of data.
constexpr double kSeconds = 0.4;
constexpr double kSecondsPerByte = 1 / 50e6;
// Memory that the process may take besides what it began with; chunks of a gigabyte are beyond all reason.
constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;

/// Sends or receives all of it; false when the other side is gone.
bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(int socket, char* out, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// A message is its length and its bytes.
bool send_message(int socket, std::string_view bytes) {
  std::string head;
  put_u64(head, bytes.size());
  return send_all(socket, head) && send_all(socket, bytes);
}

std::optional<std::string> receive_message(int socket) {
  char head[sizeof(std::uint64_t)];
  if (!receive_all(socket, head, sizeof head)) return std::nullopt;
  std::string bytes(get_u64({head, sizeof head}), '\0');
  if (!receive_all(socket, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

/// Bytes of data that a query asks for at most.
double data_bytes(const Hdf5Request& request) {
  switch (request.query) {
    case Hdf5Query::rows:
    case Hdf5Query::chunks:
    case Hdf5Query::texts:
    case Hdf5Query::numbers:
    case Hdf5Query::integers:
    case Hdf5Query::lists:
      return static_cast<double>(request.identity.bytes);
    default:
      return 0;
  }
}

/// Ends the process when that much of its time (0: as much as it likes) has passed, or a hundred times as much of ours.
void limit_time(double seconds) {
  const auto after = [](double limit) -> itimerval {
    const auto whole = static_cast<time_t>(limit);
    return {{0, 0}, {whole, static_cast<suseconds_t>((limit - static_cast<double>(whole)) * 1e6)}};
  };
  const itimerval busy = after(seconds);
  const itimerval waiting = after(100 * seconds);
  ::setitimer(ITIMER_PROF, &busy, nullptr);
  ::setitimer(ITIMER_REAL, &waiting, nullptr);
}

std::uint64_t address_space() {
  // Plain reads: the process is a copy of one with other threads.
  char text[64] = {};
  const Descriptor file("/proc/self/statm", O_RDONLY);
  if (!file.open() || read_some(file, text, sizeof text - 1) <= 0) return 0;
  return std::strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Lets go of all that belongs to the process this is a copy of, and limits what can go wrong.
void shut_off(int socket) {
  ::dup2(socket, 3);
  ::close_range(4, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) ::dup2(nothing, standard);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // A Ctrl-C is for the process that asks: when it ends, so does this one.
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(ignored, SIG_IGN);
  for (const int fatal : {SIGPROF, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(fatal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (const std::uint64_t now = address_space(); now > 0) {
    const rlimit memory{now + kMemory, now + kMemory};
    ::setrlimit(RLIMIT_AS, &memory);
  }
  ::prctl(PR_SET_NAME, "scrm-hdf5");
}

/// The answer with a byte in front that says whether it is one or an Error.
std::string answer_or_error(Hdf5Service& service, const Hdf5Request& request) {
  FieldWriter writer;
  try {
    return '\0' + service.answer(request);
  } catch (const Error& error) {
    // The message without the place, which is put together again on the other side.
    const std::string what = error.what();
    const std::string bare = Error(error.kind(), "", error.place()).what();
    writer.field(static_cast<std::int64_t>(error.kind()));
    writer.field(bare.empty() ? what : what.substr(bare.size() + 2));
    writer.field(error.place().dataset);
    writer.field(error.place().row.value_or(-1));
  } catch (const std::bad_alloc&) {
    writer.field(static_cast<std::int64_t>(ErrorKind::data));
    writer.field(std::string("asks for more memory than such a file needs: the file is damaged"));
    writer.field(request.object);
    writer.field(std::int64_t{-1});
  }
  return '\1' + writer.bytes;
}

[[noreturn]] void serve() {
  constexpr int kSocket = 3;
  try {
    Hdf5Service service;
    while (const auto message = receive_message(kSocket)) {
      const Hdf5Request request = deserialize_request(*message);
      limit_time(kSeconds + kSecondsPerByte * data_bytes(request));
      const std::string reply = answer_or_error(service, request);
      limit_time(0);
      if (!send_message(kSocket, reply)) break;
    }
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

/// The other process, as this one sees it.
class Guard {
 public:
  ~Guard() { stop(); }

  std::string ask(const Hdf5Request& request, Hdf5Service& own);

 private:
  /// To ask about the file of this path, which is named when it fails.
  void start(const std::string& path, Hdf5Service& own);
  /// How it ended, in words that follow "HDF5".
  std::string stop();

  std::mutex mutex_;
  Descriptor socket_;
  pid_t process_ = -1;
  pid_t owner_ = -1;            // the process that started it
  std::set<std::string> seen_;  // files it was asked about
};

void Guard::start(const std::string& path, Hdf5Service& own) {
  int pair[2];
  const auto fail = [&path](const char* what) {
    throw Error(ErrorKind::run, fmt::format("cannot {} the process that reads HDF5 files: {}", what, reason_of(errno)),
                {.file = path});
  };
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("talk to");
  // Not under the numbers of standard streams that are closed: results would be written to them.
  Descriptor ours(::fcntl(pair[0], F_DUPFD_CLOEXEC, 3));
  const Descriptor theirs(::fcntl(pair[1], F_DUPFD_CLOEXEC, 3));
  ::close(pair[0]);
  ::close(pair[1]);
  if (!ours.open() || !theirs.open()) fail("talk to");
  {
    // HDF5 knows files by device and inode: the copy would take a new file for one that was open when it was made.
    const hdf5::Lock lock;
    own.close_files();
    process_ = hdf5::Lock::fork_outside_hdf5();
    if (process_ == 0) {
      shut_off(theirs.get());
      serve();
    }
  }
  if (process_ < 0) fail("start");
  owner_ = ::getpid();
  socket_ = std::move(ours);
  seen_.clear();
}

std::string Guard::stop() {
  if (process_ < 0 || owner_ != ::getpid()) return "ended";
  socket_.close();
  int status = 0;
  const pid_t done = ::waitpid(std::exchange(process_, -1), &status, 0);
  if (done > 0 && WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM))
    return "does not come to an end over it";
  if (done > 0 && WIFSIGNALED(status)) return fmt::format("crashes over it ({})", strsignal(WTERMSIG(status)));
  return "gives up over it";
}

std::string Guard::ask(const Hdf5Request& request, Hdf5Service& own) {
  const std::lock_guard lock(mutex_);
  const std::string message = serialize_request(request);
  for (;;) {
    if (owner_ != ::getpid()) {  // a copy of the process that started it must not listen in
      socket_.close();
      process_ = -1;
    }
    if (process_ < 0) start(request.path, own);
    // What one damaged file does to HDF5's memory may only show when the next is read: a crash counts when it happens
    // in a process that has seen no other file.
    const bool alone = seen_.empty() || (seen_.size() == 1 && seen_.contains(request.path));
    seen_.insert(request.path);
    std::optional<std::string> reply;
    if (send_message(socket_.get(), message)) reply = receive_message(socket_.get());
    if (reply && !reply->empty()) return std::move(*reply);
    const std::string how = stop();
    if (alone)
      throw Error(ErrorKind::data, fmt::format("is damaged: HDF5 {}", how),
                  {.file = request.path, .dataset = request.object == "/" ? "" : request.object});
  }
}

Guard& guard() {
  static Guard instance;
  return instance;
}

}  // namespace

std::string guarded_answer(const Hdf5Request& request, Hdf5Service& own) {
  const std::string reply = guard().ask(request, own);
  if (reply.front() == '\0') return reply.substr(1);
  FieldReader reader(std::string_view(reply).substr(1));
  std::int64_t kind = 0;
  std::int64_t row = -1;
  std::string message;
  Place place{.file = request.path};
  reader.field(kind);
  reader.field(message);
  reader.field(place.dataset);
  reader.field(row);
  if (row >= 0) place.row = row;
  const bool known = reader.good() && kind >= 0 && kind <= static_cast<std::int64_t>(ErrorKind::run);
  throw Error(known ? static_cast<ErrorKind>(kind) : ErrorKind::data, message, place);
}

}  // namespace scrm

// Preloaded before the program: system calls on files of a test's folder that fail, or end the process.
//
// SCRM_FAULT_PATH   only calls on paths that hold this text count
// SCRM_FAULT_CALLS  which: a list of open, close, write, sync, rename, link, lock; default all but lock
// SCRM_FAULT_AT     the call that fails, counted from 1; with SCRM_FAULT_FROM=1 all later ones too
// SCRM_FAULT_ERROR  the errno to fail with; 0: the process is killed instead, just before the call; -N: it gets signal
// N SCRM_FAULT_LOG    gets one line for every fault SCRM_NO_EXCHANGE  set: the file system knows no flags of renameat2
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

const char* setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::atomic<long> calls{0};

/// Counts the call; true, with errno set, when it is to fail.
bool fails(const char* call, const char* path) {
  static const std::string folder = setting("SCRM_FAULT_PATH", "");
  static const std::string wanted =
      std::string(",") + setting("SCRM_FAULT_CALLS", "open,close,write,sync,rename,link") + ",";
  static const long at = std::atol(setting("SCRM_FAULT_AT", "0"));
  static const bool later = std::getenv("SCRM_FAULT_FROM") != nullptr;
  static const int error = std::atoi(setting("SCRM_FAULT_ERROR", "5"));
  if (folder.empty() || path == nullptr || std::strstr(path, folder.c_str()) == nullptr) return false;
  if (wanted.find(std::string(",") + call + ",") == std::string::npos) return false;
  const long now = ++calls;
  if (now != at && !(later && now > at)) return false;
  const std::string line = std::string(call) + " " + path + "\n";
  const int log = real<int(const char*, int, ...)>("open")(setting("SCRM_FAULT_LOG", "/dev/null"),
                                                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  static_cast<void>(!real<ssize_t(int, const void*, size_t)>("write")(log, line.data(), line.size()));
  real<int(int)>("close")(log);
  if (error == 0) {
    ::raise(SIGKILL);
    ::_exit(137);  // the first process of a container does not die of its own signals
  }
  if (error < 0) {
    ::raise(-error);
    return false;
  }
  errno = error;
  return true;
}

bool fails(const char* call, int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  return fails(call, path);
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

extern "C" {

#define SCRM_OPEN(name)                                                \
  int name(const char* path, int flags, ...) {                         \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    const mode_t mode = mode_of(flags, rest);                          \
    va_end(rest);                                                      \
    if (fails("open", path)) return -1;                                \
    return real<int(const char*, int, ...)>(#name)(path, flags, mode); \
  }
SCRM_OPEN(open)
SCRM_OPEN(open64)

#define SCRM_FOPEN(name)                                             \
  FILE* name(const char* path, const char* mode) {                   \
    if (fails("open", path)) return nullptr;                         \
    return real<FILE*(const char*, const char*)>(#name)(path, mode); \
  }
SCRM_FOPEN(fopen)
SCRM_FOPEN(fopen64)

#define SCRM_PWRITE(name, offset_type)                                                             \
  ssize_t name(int file, const void* bytes, size_t size, offset_type offset) {                     \
    if (fails("write", file)) return -1;                                                           \
    return real<ssize_t(int, const void*, size_t, offset_type)>(#name)(file, bytes, size, offset); \
  }
SCRM_PWRITE(pwrite, off_t)
SCRM_PWRITE(pwrite64, off64_t)

ssize_t write(int file, const void* bytes, size_t size) {
  if (fails("write", file)) return -1;
  return real<ssize_t(int, const void*, size_t)>("write")(file, bytes, size);
}

size_t fwrite(const void* bytes, size_t size, size_t count, FILE* file) {
  if (fails("write", fileno(file))) return 0;
  return real<size_t(const void*, size_t, size_t, FILE*)>("fwrite")(bytes, size, count, file);
}

#define SCRM_TRUNCATE(name, offset_type)                   \
  int name(int file, offset_type size) noexcept {          \
    if (fails("write", file)) return -1;                   \
    return real<int(int, offset_type)>(#name)(file, size); \
  }
SCRM_TRUNCATE(ftruncate, off_t)
SCRM_TRUNCATE(ftruncate64, off64_t)

int fsync(int file) {
  return fails("sync", file) ? -1 : real<int(int)>("fsync")(file);
}

int fdatasync(int file) {
  return fails("sync", file) ? -1 : real<int(int)>("fdatasync")(file);
}

// A close that fails has closed all the same. Disks have nothing to say when what was only read is closed.
int close(int file) {
  const bool failed = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY && fails("close", file);
  const int error = errno;
  const int status = real<int(int)>("close")(file);
  if (!failed) return status;
  errno = error;
  return -1;
}

int fclose(FILE* file) {
  const bool failed = fails("close", fileno(file));
  const int error = errno;
  const int status = real<int(FILE*)>("fclose")(file);
  if (!failed) return status;
  errno = error;
  return EOF;
}

int rename(const char* from, const char* to) noexcept {
  return fails("rename", to) ? -1 : real<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (flags != 0 && std::getenv("SCRM_NO_EXCHANGE") != nullptr) {
    errno = EINVAL;
    return -1;
  }
  if (fails("rename", to)) return -1;
  return real<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) noexcept {
  return fails("link", to) ? -1 : real<int(const char*, const char*)>("link")(from, to);
}

int flock(int file, int operation) noexcept {
  return fails("lock", file) ? -1 : real<int(int, int)>("flock")(file, operation);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return fails("open", path) ? -1 : real<int(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"

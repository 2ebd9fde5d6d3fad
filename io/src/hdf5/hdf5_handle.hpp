/// What both halves of io/ need from HDF5: owning handles, the lock, and the error stack turned into one Error.
#pragma once

#include <hdf5.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm::hdf5 {

/// One HDF5 call at a time in the whole process, whatever way the library was built. Held for the length of a scope;
/// recursive so that a function that locks may call another. Also silences the library's own printing, which HDF5
/// keeps per thread.
class Lock {
 public:
  Lock() : guard_(mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

  /// Like fork(), while nobody is inside HDF5. The lock is free in the new process.
  static pid_t fork_outside_hdf5() {
    const std::lock_guard<std::recursive_mutex> nobody(mutex());
    const pid_t process = ::fork();
    // A lock belongs to a thread, and the only one here has a new number: it could never be let go of.
    if (process == 0) new (&mutex()) std::recursive_mutex;
    return process;
  }

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex instance;
    return instance;
  }
  std::lock_guard<std::recursive_mutex> guard_;
};

/// Owns one HDF5 id together with the function that closes it. Closing needs the lock to be held, like any other call.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) noexcept : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }
  ~Handle() { reset(); }

  hid_t get() const noexcept { return id_; }
  bool valid() const noexcept { return id_ >= 0; }
  /// Closes now; false when HDF5 reports that closing failed.
  bool reset() noexcept {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// The innermost message of HDF5's error stack: what really went wrong. Where it quotes the operating system
/// ("... error message = 'No space left on device' ..."), only that. The stack is cleared.
inline std::string take_error_text() {
  std::string text;
  const auto innermost = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    if (entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
    return 1;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  H5Eclear2(H5E_DEFAULT);
  constexpr std::string_view kMark = "error message = '";
  if (const auto begin = text.find(kMark); begin != std::string::npos) {
    const auto from = begin + kMark.size();
    if (const auto end = text.find('\'', from); end != std::string::npos) return text.substr(from, end - from);
  }
  return text.empty() ? "HDF5 gives no reason" : text;
}

/// Throws an Error of this place whose message ends with HDF5's reason.
[[noreturn]] inline void fail(ErrorKind kind, const std::string& message, Place place) {
  throw Error(kind, message + ": " + take_error_text(), std::move(place));
}

}  // namespace scrm::hdf5

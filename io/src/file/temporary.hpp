/// Temporary: a file or folder of a name that nothing else has, beside the output that it will become.
#pragma once

#include <string>
#include <string_view>

#include "file/descriptor.hpp"

namespace scrm {

/// A name in the same folder to write under until the file or folder is whole: hidden, never that of a shard or a
/// policy, and never given twice, here or on any other machine.
std::string temporary_name(const std::string& target, std::string_view ending = ".tmp");
/// Whether a file name is one that temporary_name() gives for this target.
bool is_temporary_name(const std::string& name, const std::string& target);

/// Where an output lands: without a trailing slash, and behind the symbolic link where it is one.
std::string output_target(const std::string& path);

/// What a chain of symbolic links leads to, whether it exists or not; the path itself where it is no link.
std::string behind_links(const std::string& path);

/// Registers a path for remove_temporaries(); the characters must stay in place until it is forgotten.
class RemovedOnSignal {
 public:
  RemovedOnSignal() = default;
  ~RemovedOnSignal() { forget(); }
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

  /// Before the path is made, so that no signal comes between.
  void remember(const char* path, bool folder) noexcept;
  /// The path is there now. Where remove_temporaries() came before it was, it is removed here, and the process is about
  /// to end: this does not return then.
  void made() noexcept;
  /// Does not return where remove_temporaries() is at work on it: the process is about to end.
  void forget() noexcept;

 private:
  int slot_ = -1;
};

/// Made, and locked as long as it lives, so that others see that somebody is at work on it. Removed at the end unless
/// release() was called.
class Temporary {
 public:
  enum class Kind { file, folder };

  /// error() says why where it could not be made.
  Temporary(const std::string& target, Kind kind);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const noexcept { return path_; }
  int error() const noexcept { return error_; }
  const Descriptor& descriptor() const noexcept { return descriptor_; }
  /// The descriptor with its lock, for who goes on with the file under another name.
  Descriptor take_descriptor() noexcept { return std::move(descriptor_); }

  /// It has got its name, or is about to: from now on neither the destructor nor a signal touches it.
  void release() noexcept;

 private:
  void make();

  Kind kind_;
  std::string path_;
  Descriptor descriptor_;
  int error_ = 0;
  bool owned_ = false;
  RemovedOnSignal on_signal_;
};

}  // namespace scrm

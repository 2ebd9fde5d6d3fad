#include "scrm/io/archive/run_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "archive/archive_layout.hpp"
#include "archive/journal_file.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

/// Why a record is not on disk.
enum class AppendFailure : std::uint8_t {
  none,
  write,    ///< the file is as it was before
  sync,     ///< nobody knows what the disk holds
  deleted,  ///< the file has no name any more
  broken    ///< an earlier record met with one of the last two
};

/// A record on its way to the disk; lives on the stack of the thread that appends it.
struct JournalEntry {
  std::string frame;
  bool done = false;
  AppendFailure failure = AppendFailure::none;
  int error = 0;
};

struct RunJournal::Impl {
  /// Writes and syncs the batch; on failure the file ends with the last of its records that is whole. Returns how many
  /// records are on disk for good.
  std::size_t write_batch(const std::vector<JournalEntry*>& batch) noexcept;
  [[noreturn]] void fail(const JournalEntry& entry);

  std::string path;
  Descriptor file;
  JournalContents initial_contents;

  std::mutex mutex;
  std::condition_variable batch_done;
  std::vector<JournalEntry*> queue;
  bool writing = false;  // one thread at a time writes, for all that wait
  std::size_t runs = 0;  // on disk

  // Of the thread that writes, without the mutex.
  std::int64_t end = 0;  // of the last whole record
  bool broken = false;
};

std::size_t RunJournal::Impl::write_batch(const std::vector<JournalEntry*>& batch) noexcept {
  std::int64_t reached = end;
  std::size_t written = 0;
  int error = 0;
  for (JournalEntry* entry : batch) {
    if (broken) entry->failure = AppendFailure::broken;
    if (!broken && error == 0) error = write_at(file, entry->frame, reached);
    if (broken || error != 0) continue;
    reached += static_cast<std::int64_t>(entry->frame.size());
    ++written;
  }
  if (broken) return 0;
  // A tail that cannot be cut off would stand between this record and the next.
  if (error != 0 && ::ftruncate(file.get(), static_cast<off_t>(reached)) != 0) broken = true;
  AppendFailure rest = AppendFailure::write;
  AppendFailure first = AppendFailure::none;
  struct stat status {};
  // After a failed sync the kernel forgets what it could not write: trying again would report a success that is none.
  if (::fdatasync(file.get()) != 0) {
    error = errno;
    first = rest = AppendFailure::sync;
  } else if (::fstat(file.get(), &status) == 0 && status.st_nlink == 0) {
    first = rest = AppendFailure::deleted;
  }
  broken = broken || first != AppendFailure::none;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i]->failure = i < written ? first : rest;
    batch[i]->error = error;
  }
  if (first != AppendFailure::none) return 0;
  end = reached;
  return written;
}

void RunJournal::Impl::fail(const JournalEntry& entry) {
  const std::string kept = fmt::format("the {} finished runs before it are kept here", runs);
  const auto message = [&]() -> std::string {
    switch (entry.failure) {
      case AppendFailure::deleted:
        return "this journal was deleted or replaced while it was written to, and its runs with it; begin again, and "
               "leave the file alone until the sweep has ended";
      case AppendFailure::broken:
        return fmt::format(
            "cannot record a finished run after an earlier failure of the disk; {}: see to the disk, then "
            "go on with --resume",
            kept);
      case AppendFailure::sync:
        return fmt::format("cannot bring a finished run to disk: {}; {}: see to the disk, then go on with --resume",
                           std::strerror(entry.error), kept);
      default:
        return fmt::format("cannot record a finished run: {}; {}: free some space, then go on with --resume",
                           std::strerror(entry.error), kept);
    }
  };
  throw Error(ErrorKind::file, message(), {.file = path});
}

RunJournal::RunJournal(const std::string& path, const std::string& header_text) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->file = open_locked_journal(path, header_text);
  ParsedJournal parsed = parse_journal(path, read_whole_file(path, impl_->file));
  if (parsed.contents.header_text != header_text && parsed.contents.records.empty() &&
      parsed.contents.torn_bytes == 0) {
    // Another sweep that finished nothing: there is nothing to lose.
    if (::unlink(path.c_str()) != 0)
      throw Error(ErrorKind::file, fmt::format("cannot be deleted: {}", std::strerror(errno)), {.file = path});
    impl_->file = open_locked_journal(path, header_text);
    parsed = parse_journal(path, read_whole_file(path, impl_->file));
  }
  if (parsed.contents.header_text != header_text)
    throw Error(ErrorKind::data,
                fmt::format("belongs to another sweep, of which it keeps {} finished runs; go on with that sweep, give "
                            "another name, or delete it to begin again",
                            parsed.contents.records.size()),
                {.file = path});
  if (parsed.contents.torn_bytes > 0 && (::ftruncate(impl_->file.get(), static_cast<off_t>(parsed.whole_bytes)) != 0 ||
                                         ::fdatasync(impl_->file.get()) != 0))
    throw Error(ErrorKind::file, fmt::format("cannot cut off an unfinished record: {}", std::strerror(errno)),
                {.file = path});
  impl_->end = parsed.whole_bytes;
  impl_->runs = parsed.contents.records.size();
  impl_->initial_contents = std::move(parsed.contents);
}

RunJournal::~RunJournal() = default;

const JournalContents& RunJournal::initial_contents() const noexcept {
  return impl_->initial_contents;
}

void RunJournal::append(const RunRecord& record) {
  validate_run(record, impl_->path);
  JournalEntry entry{.frame = journal_frame(record)};
  std::unique_lock lock(impl_->mutex);
  impl_->queue.push_back(&entry);
  while (!entry.done) {
    if (impl_->writing) {
      impl_->batch_done.wait(lock);
      continue;
    }
    impl_->writing = true;
    const std::vector<JournalEntry*> batch = std::exchange(impl_->queue, {});
    lock.unlock();
    const std::size_t durable = impl_->write_batch(batch);
    lock.lock();
    impl_->runs += durable;
    for (JournalEntry* written : batch) written->done = true;
    impl_->writing = false;
    impl_->batch_done.notify_all();
  }
  if (entry.failure != AppendFailure::none) impl_->fail(entry);
}

void RunJournal::remove() {
  std::unique_lock lock(impl_->mutex);
  impl_->batch_done.wait(lock, [this] { return !impl_->writing; });
  impl_->broken = true;
  if (::unlink(impl_->path.c_str()) != 0 && errno != ENOENT)
    throw Error(ErrorKind::file, fmt::format("cannot be deleted: {}", std::strerror(errno)), {.file = impl_->path});
}

std::optional<JournalContents> read_journal(const std::string& path) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (!file.open() && errno == ENOENT) return std::nullopt;
  if (!file.open())
    throw Error(ErrorKind::file, fmt::format("cannot be opened: {}", std::strerror(errno)), {.file = path});
  return parse_journal(path, read_whole_file(path, file)).contents;
}

}  // namespace scrm

// labels: fast io
#include "scrm/io/file/atomic_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "scrm/io/file/error.hpp"
#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;
using namespace scrm::testing;

/// The message of the Error that writing there throws.
std::string writing_complaint(const std::string& path) {
  return complaint([&] { scrm::write_text_file(path, "text"); });
}

}  // namespace

TEST_CASE("an atomic file: appears under its name with commit and not before") {
  const Folder folder;
  scrm::AtomicFile file(folder / "out.txt");
  std::ofstream(file.temporary_path()) << "hello";
  CHECK_FALSE(fs::exists(folder / "out.txt"));
  CHECK(fs::path(file.temporary_path()).parent_path() == folder.path);
  CHECK(fs::path(file.temporary_path()).filename().string().front() == '.');
  file.commit();
  CHECK(bytes_of(folder / "out.txt") == "hello");
  CHECK(folder.entries() == 1);
}

TEST_CASE("an atomic file: without commit nothing is left") {
  const Folder folder;
  { const scrm::AtomicFile file(folder / "out.txt"); }
  CHECK(folder.entries() == 0);
}

TEST_CASE("an atomic file: an old file stays whole until the new one takes its place") {
  const Folder folder;
  scrm::write_text_file(folder / "out.txt", "old");
  {
    const scrm::AtomicFile abandoned(folder / "out.txt");
    std::ofstream(abandoned.temporary_path()) << "half";
  }
  CHECK(bytes_of(folder / "out.txt") == "old");
  scrm::write_text_file(folder / "out.txt", "new");
  CHECK(bytes_of(folder / "out.txt") == "new");
}

TEST_CASE("an atomic file: two writers of one name do not meet") {
  const Folder folder;
  scrm::AtomicFile one(folder / "out.txt");
  scrm::AtomicFile two(folder / "out.txt");
  CHECK(one.temporary_path() != two.temporary_path());
}

TEST_CASE("an atomic file: a symbolic link is written through") {
  const Folder folder;
  scrm::write_text_file(folder / "real.txt", "old");
  fs::create_symlink("real.txt", folder / "link.txt");
  scrm::write_text_file(folder / "link.txt", "new");
  CHECK(fs::is_symlink(folder / "link.txt"));
  CHECK(bytes_of(folder / "real.txt") == "new");
  // One that leads nowhere makes what it points to.
  fs::create_directory(folder / "below");
  fs::create_symlink("below/made.txt", folder / "dangling.txt");
  scrm::write_text_file(folder / "dangling.txt", "made");
  CHECK(fs::is_symlink(folder / "dangling.txt"));
  CHECK(bytes_of(folder / "below/made.txt") == "made");
  fs::create_symlink("circle.txt", folder / "circle.txt");
  CHECK(holds(writing_complaint(folder / "circle.txt"), "symbolic link"));
}

TEST_CASE("an atomic file: a name as long as the file system allows is no obstacle") {
  const Folder folder;
  const std::string name(255, 'x');
  scrm::write_text_file(folder / name, "text");
  CHECK(bytes_of(folder / name) == "text");
}

TEST_CASE("an atomic file: text may be empty or hold any byte") {
  const Folder folder;
  scrm::write_text_file(folder / "empty", "");
  CHECK(fs::file_size(folder / "empty") == 0);
  scrm::write_text_file(folder / "bytes", std::string("a\0b", 3));
  CHECK(fs::file_size(folder / "bytes") == 3);
}

TEST_CASE("an atomic file: a place that cannot be written is named") {
  const Folder folder;
  const std::string missing = folder / "none/out.txt";
  CHECK(writing_complaint(missing).rfind(missing + ": ", 0) == 0);
  CHECK(holds(writing_complaint(missing), "does not exist"));
  CHECK(holds(writing_complaint(missing), "nothing appeared under this name"));
  CHECK(holds(writing_complaint(folder.path.string()), "is a folder"));
  CHECK(holds(writing_complaint(folder.path.string() + "/"), "folder"));
  CHECK(holds(writing_complaint("/dev/null"), "is not a regular file"));
  CHECK(holds(writing_complaint(""), "empty"));
  // The superuser may write everywhere.
  if (::geteuid() != 0) {
    ::chmod(folder.path.c_str(), 0500);
    CHECK(holds(writing_complaint(folder / "out.txt"), "Permission denied"));
    ::chmod(folder.path.c_str(), 0700);
  }
}

TEST_CASE("an atomic file: a disk that is full leaves the old file and no remains") {
  const Folder folder;
  scrm::write_text_file(folder / "out.txt", "old");
  std::string message;
  {
    const SmallFiles limit(4096);
    try {
      scrm::write_text_file(folder / "out.txt", std::string(10000, 'x'));
    } catch (const scrm::Error& error) {
      message = error.what();
      CHECK(error.kind() == scrm::ErrorKind::file);
    }
  }
  CHECK(holds(message, folder / "out.txt"));
  CHECK(holds(message, "nothing appeared under this name"));
  CHECK(bytes_of(folder / "out.txt") == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("an atomic file: where the folder is there, the system's own reason is told") {
  CHECK(holds(writing_complaint("/nowhere/x.txt"), "the folder /nowhere does not exist"));
  const std::string said = writing_complaint("/proc/x.txt");
  CHECK(holds(said, "cannot write into the folder /proc: No such file or directory"));
  CHECK_FALSE(holds(said, "does not exist"));
}

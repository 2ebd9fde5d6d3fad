// labels: fast io
#include "file/temporary.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/atomic_folder.hpp"
#include "scrm/io/file/temporaries.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;
namespace fs = std::filesystem;

namespace {

/// Runs the action in a process of its own that is then killed.
template <class Action>
void in_killed_process(const Action& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    action();
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

void write_shards_folder(const std::string& path, const std::string& text, bool overwrite = false) {
  AtomicFolder folder(path, overwrite);
  write_text_file(folder.temporary_path() + "/a.h5", text);
  folder.commit();
}

/// The same with a real shard, which holds the text in an attribute.
void write_shard_folder(const std::string& path, const std::string& text, bool overwrite = false) {
  AtomicFolder folder(path, overwrite);
  ShardWriter writer(folder.temporary_path() + "/a.h5", Schema{}, {.attributes = {{"note", text}}});
  writer.commit();
  folder.commit();
}

}  // namespace

TEST_CASE("temporary_name: hidden, beside the file, never twice, and short enough for any file system") {
  const std::string target = "folder/" + std::string(250, 'n') + ".h5";
  const std::string name = temporary_name(target);
  CHECK(name.rfind("folder/.n", 0) == 0);
  CHECK(name.size() < 255);
  CHECK(is_temporary_name(fs::path(name).filename().string(), target));
  CHECK(holds(temporary_name("a.h5", ".old"), ".old"));
  CHECK(temporary_name("a.h5") != temporary_name("a.h5"));
  for (const char* other : {".a.h5.scrm-0123456789abcdef", ".b.h5.scrm-0123456789abcdef.tmp", ".a.h5.scrm-x.tmp",
                            "a.h5.scrm-0123456789abcdef.tmp", ".a.h5.scrm-0123456789abcdef.tmp.h5", ".a.h5", ""})
    CHECK_FALSE(is_temporary_name(other, "a.h5"));
  CHECK(is_temporary_name(".a.h5.scrm-0123456789abcdef.tmp", "folder/a.h5"));
}

TEST_CASE("temporary_name: another process of the same number gives other names") {
  // What a fork shares is all that two processes of one number could: the same state of the same program.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string name = temporary_name("a.h5");
    static_cast<void>(!::write(ends[1], name.data(), name.size()));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  std::string name(100, '\0');
  name.resize(static_cast<std::size_t>(::read(ends[0], name.data(), name.size())));
  CHECK(is_temporary_name(name, "a.h5"));
  CHECK(name != temporary_name("a.h5"));
}

TEST_CASE("leftovers: of a killed process they are removed, of a living one they are not") {
  const Folder folder;
  const AtomicFile mine(folder / "out.h5");
  const AtomicFolder my_folder(folder / "logs", false);
  in_killed_process([&] {
    auto* file = new AtomicFile(folder / "out.h5");
    write_text_file(file->temporary_path(), "half");
    auto* logs = new AtomicFolder(folder / "logs", false);
    write_text_file(logs->temporary_path() + "/part-00000.h5", "half");
    new AtomicFile(folder / "other.h5");
  });
  CHECK(folder.entries() == 5);
  const Leftovers file = clear_leftovers(folder / "out.h5");
  REQUIRE(file.removed.size() == 1);
  CHECK(file.removed[0] != mine.temporary_path());
  CHECK(clear_leftovers(folder / "logs/").removed.size() == 1);
  CHECK(clear_leftovers(folder / "logs").removed.empty());
  CHECK(fs::exists(mine.temporary_path()));
  CHECK(fs::exists(my_folder.temporary_path()));
  // What belongs to another output stays until that one is written.
  CHECK(folder.entries() == 3);
  CHECK_FALSE(file.restored);
  CHECK(clear_leftovers(folder / "none/out.h5").removed.empty());
}

TEST_CASE("leftovers: a folder that was away when its process was killed comes back") {
  const Folder folder;
  write_shards_folder(folder / "logs", "old");
  const std::string away = temporary_name(folder / "logs", ".old");
  fs::rename(folder / "logs", away);
  {
    // Its process is alive: it will see to it itself.
    const Descriptor held(away, O_RDONLY | O_DIRECTORY);
    REQUIRE(::flock(held.get(), LOCK_SH) == 0);
    CHECK_FALSE(clear_leftovers(folder / "logs").restored);
  }
  CHECK(clear_leftovers(folder / "logs").restored);
  CHECK(bytes_of(folder / "logs/a.h5") == "old");
  // With the new folder in place, the old one is only in the way.
  fs::create_directory(temporary_name(folder / "logs", ".old"));
  CHECK(clear_leftovers(folder / "logs").removed.size() == 1);
  CHECK(bytes_of(folder / "logs/a.h5") == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("remove_temporaries: a signal leaves nothing behind, and what is finished stays") {
  const Folder folder;
  write_text_file(folder / "done.txt", "done");
  in_killed_process([&] {
    new AtomicFile(folder / "out.h5");
    auto* logs = new AtomicFolder(folder / "logs", false);
    for (int i = 0; i < 200; ++i) write_text_file(logs->temporary_path() + "/" + std::to_string(i) + ".h5", "half");
    new AtomicFile(logs->temporary_path() + "/more.h5");
    remove_temporaries();
  });
  CHECK(folder.entries() == 1);
  CHECK(bytes_of(folder / "done.txt") == "done");
}

TEST_CASE("remove_temporaries: a child made by fork does not take its parent's files away") {
  const Folder folder;
  const AtomicFile mine(folder / "out.h5");
  in_killed_process([] { remove_temporaries(); });
  CHECK(fs::exists(mine.temporary_path()));
}

TEST_CASE("an atomic file: one that came meanwhile is not replaced") {
  const Folder folder;
  AtomicFile file(folder / "out.txt");
  write_bytes(folder / "out.txt", "somebody else's");
  CHECK(holds(complaint([&] { file.commit(); }), "left alone"));
  CHECK(bytes_of(folder / "out.txt") == "somebody else's");
}

TEST_CASE("an atomic folder: replaces shards and nothing else, and its errors name the final path") {
  const Folder folder;
  write_shard_folder(folder / "logs", "old text");
  CHECK(holds(complaint([&] { write_shard_folder(folder / "logs", "new text"); }), "--overwrite"));
  write_shard_folder(folder / "logs", "new text", true);
  CHECK(holds(bytes_of(folder / "logs/a.h5"), "new text"));
  CHECK(folder.entries() == 1);
  fs::create_directory_symlink("logs", folder / "link");
  CHECK(holds(complaint([&] { write_shard_folder(folder / "link", "x", true); }), "symbolic link"));
  CHECK(holds(bytes_of(folder / "logs/a.h5"), "new text"));
  // What has only the name of a shard may be somebody's work.
  write_bytes(folder / "logs/b.h5", "mine");
  CHECK(holds(complaint([&] { write_shard_folder(folder / "logs", "x", true); }), "holds b.h5, which is no shard"));
  CHECK(bytes_of(folder / "logs/b.h5") == "mine");

  const AtomicFolder next(folder / "next/", false);
  const std::string message = complaint([&] {
    next.write([&] { throw Error(ErrorKind::file, "cannot write", {.file = next.temporary_path() + "/part.h5"}); });
  });
  CHECK(message == folder / "next/part.h5" + std::string(": cannot write"));
}

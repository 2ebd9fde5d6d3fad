// labels: fast io
#include "scrm/io/file/path_checks.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;
namespace fs = std::filesystem;

TEST_CASE(
    "require_file: files and folders pass, what would be waited for does not, what is missing is not its business") {
  const Folder folder;
  write_bytes(folder / "file", "");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder / "link");
  for (const std::string& good : {folder / "file", folder.path.string(), folder / "missing", std::string()})
    CHECK_NOTHROW(require_file(good));
  for (const std::string& bad : {folder / "pipe", folder / "link"})
    CHECK(holds(complaint([&] { require_file(bad); }), bad + ": is a named pipe"));
  CHECK(holds(complaint([] { require_file("/dev/zero"); }), "is a device"));
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK_NOTHROW(require_file("/dev/fd/" + std::to_string(ends[0])));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("require_distinct: one file under two names is refused with both, copies and missing files are not") {
  const Folder folder;
  fs::create_directories(folder / "logs");
  write_bytes(folder / "logs/a.h5", "a");
  write_bytes(folder / "copy.h5", "a");
  fs::create_symlink("logs/a.h5", folder / "link.h5");
  fs::create_hard_link(folder / "logs/a.h5", folder / "hard.h5");
  const std::string shard = folder / "logs/a.h5";
  for (const char* same : {"link.h5", "hard.h5", "logs/../logs/a.h5", "logs//a.h5"}) {
    const std::string said = complaint([&] { require_distinct({shard, folder / "copy.h5", folder / same}); });
    CHECK(holds(said, (folder / same) + ": is the same file as " + shard));
  }
  CHECK(holds(complaint([&] { require_distinct({shard, shard}); }), shard + ": is given twice"));
  CHECK_NOTHROW(require_distinct({shard, folder / "copy.h5", folder / "missing", folder / "missing"}));
  CHECK_NOTHROW(require_distinct({}));
}

TEST_CASE("require_not_input: the same file under any name, and folders that hold one") {
  const Folder folder;
  fs::create_directories(folder / "logs");
  fs::create_directories(folder / "other");
  write_bytes(folder / "logs/a.h5", "a");
  write_bytes(folder / "policy.toml", "p");
  fs::create_symlink("../logs/a.h5", folder / "other/b.h5");
  fs::create_hard_link(folder / "policy.toml", folder / "hard.toml");
  const std::vector<std::string> inputs = {folder / "logs", folder / "policy.toml", folder / "missing"};
  for (const char* bad : {"logs", "logs/", "logs/a.h5", "logs/../logs/a.h5", "other", "other/b.h5", "hard.toml"})
    CHECK(holds(complaint([&] { require_not_input(folder / bad, inputs); }), "write elsewhere"));
  for (const char* good : {"missing", "new.toml", "logs/new.toml", "new/"})
    CHECK_NOTHROW(require_not_input(folder / good, inputs));
  CHECK_NOTHROW(require_not_input(folder / "logs", {}));
}

TEST_CASE("require_replaceable: files with permission, links with permission, folders never") {
  const Folder folder;
  write_bytes(folder / "file", "");
  fs::create_symlink("nowhere", folder / "dangling");
  fs::create_directory(folder / "folder");
  fs::create_directory_symlink("folder", folder / "link");
  CHECK_NOTHROW(require_replaceable(folder / "new", false));
  for (const char* there : {"file", "dangling"}) {
    CHECK(holds(complaint([&] { require_replaceable(folder / there, false); }), "--overwrite"));
    CHECK_NOTHROW(require_replaceable(folder / there, true));
  }
  for (const char* never : {"folder", "link"})
    for (const bool overwrite : {false, true})
      CHECK(holds(complaint([&] { require_replaceable(folder / never, overwrite); }), "is a folder"));
}

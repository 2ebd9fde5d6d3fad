// labels: fast io threads
#include "scrm/io/archive/run_journal.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "archive/journal_file.hpp"
#include "file/fields.hpp"
#include "scrm/io/archive/run_serialization.hpp"
#include "support/files.hpp"
#include "support/runs.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

namespace fs = std::filesystem;

/// A journal of `count` runs; the size of the file after its header and after each record.
std::vector<std::size_t> write_runs(const std::string& path, int count) {
  RunJournal journal(path, "a sweep");
  std::vector<std::size_t> sizes = {fs::file_size(path)};
  for (int i = 0; i < count; ++i) {
    journal.append(made_up_run(i));
    sizes.push_back(fs::file_size(path));
  }
  return sizes;
}

bool holds_runs(const std::vector<RunRecord>& records, int count) {
  if (records.size() != static_cast<std::size_t>(count)) return false;
  for (int i = 0; i < count; ++i)
    if (!same_run(records[static_cast<std::size_t>(i)], made_up_run(i))) return false;
  return true;
}

}  // namespace

TEST_CASE("a journal: runs read back as they were appended, to the bit") {
  const Folder folder;
  CHECK_FALSE(read_journal(folder / "a.journal").has_value());
  write_runs(folder / "a.journal", 50);
  const auto contents = read_journal(folder / "a.journal");
  REQUIRE(contents.has_value());
  CHECK(contents->header_text == "a sweep");
  CHECK(holds_runs(contents->records, 50));
  CHECK(contents->torn_bytes == 0);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a journal: texts and headers of any bytes and any length") {
  const Folder folder;
  const std::string odd = std::string("a\0b\xff", 4) + std::string(100000, 'x');
  for (const std::string& header : {std::string(), odd}) {
    RunRecord run = made_up_run(2);
    run.message = odd;
    run.theta.assign(200000, 0.1);
    const std::string path = folder / ("a" + std::to_string(header.size()));
    RunJournal(path, header).append(run);
    const auto contents = read_journal(path);
    REQUIRE(contents->records.size() == 1);
    CHECK(same_run(contents->records[0], run));
    CHECK(contents->header_text == header);
  }
}

TEST_CASE("a journal: cut at any byte, it reads as its whole records and goes on behind them") {
  const Folder folder;
  const std::vector<std::size_t> sizes = write_runs(folder / "whole", 3);
  const std::string bytes = bytes_of(folder / "whole");
  REQUIRE(bytes.size() == sizes.back());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const std::string path = folder / "cut";
    write_bytes(path, bytes.substr(0, size));
    if (size < sizes[0]) {
      CHECK_THROWS_WITH_AS(read_journal(path), doctest::Contains("journal"), Error);
      CHECK_THROWS_WITH_AS(RunJournal(path, "a sweep"), doctest::Contains("journal"), Error);
      CHECK(bytes_of(path).size() == size);  // what is not understood is left alone
      continue;
    }
    const auto whole = std::upper_bound(sizes.begin(), sizes.end(), size) - sizes.begin() - 1;
    const auto torn = static_cast<std::int64_t>(size - sizes[static_cast<std::size_t>(whole)]);
    const auto contents = read_journal(path);
    REQUIRE(contents.has_value());
    CHECK(holds_runs(contents->records, static_cast<int>(whole)));
    CHECK(contents->torn_bytes == torn);
    // Each of these waits for the disk several times: a sample, and both sides of every border.
    if (size % 11 != 0 && torn > 1 && !std::binary_search(sizes.begin(), sizes.end(), size + 1)) continue;
    {
      RunJournal journal(path, "a sweep");
      CHECK(holds_runs(journal.initial_contents().records, static_cast<int>(whole)));
      CHECK(journal.initial_contents().torn_bytes == torn);
      for (auto i = static_cast<int>(whole); i < 3; ++i) journal.append(made_up_run(i));
    }
    CHECK(bytes_of(path) == bytes);
  }
}

TEST_CASE("a journal: any flipped bit, zeros and noise behind the records are never taken for a run") {
  const Folder folder;
  const std::vector<std::size_t> sizes = write_runs(folder / "whole", 3);
  const std::string bytes = bytes_of(folder / "whole");
  const std::string path = folder / "bad";
  for (std::size_t at = sizes[0]; at < bytes.size(); ++at) {
    for (const int flip : {1, 128}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto before = std::upper_bound(sizes.begin(), sizes.end(), at) - sizes.begin() - 1;
      CHECK(holds_runs(parse_journal(path, damaged).contents.records, static_cast<int>(before)));
    }
  }
  for (const std::string& tail : {std::string(5000, '\0'), std::string(5000, '\xff'), bytes.substr(0, 40)}) {
    write_bytes(path, bytes + tail);
    CHECK(holds_runs(read_journal(path)->records, 3));
    CHECK(read_journal(path)->torn_bytes == static_cast<std::int64_t>(tail.size()));
  }
}

TEST_CASE("a journal: bytes that are not exactly a record are not read as one") {
  const std::string bytes = serialize_run(made_up_run(4));
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(deserialize_run(bytes.substr(0, size)));
  CHECK_FALSE(deserialize_run(bytes + '\0'));
  CHECK(deserialize_run(bytes));
  std::string huge;
  put_u64(huge, ~std::uint64_t{0});
  CHECK_FALSE(deserialize_run(huge + bytes));
}

TEST_CASE("a journal: appends from many threads at once are all there when they return") {
  const Folder folder;
  constexpr int kThreads = 8, kRuns = 40;
  const std::string path = folder / "a.journal";
  {
    RunJournal journal(path, "a sweep");
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&journal, t] {
        for (int i = 0; i < kRuns; ++i) journal.append(made_up_run(t * kRuns + i));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const auto contents = read_journal(path);
  REQUIRE(contents->records.size() == kThreads * kRuns);
  CHECK(contents->torn_bytes == 0);
  std::set<std::int64_t> seeds;
  for (const RunRecord& run : contents->records) {
    CHECK(same_run(run, made_up_run(static_cast<int>(run.seed) + 1)));
    seeds.insert(run.seed);
  }
  CHECK(seeds.size() == kThreads * kRuns);
}

TEST_CASE("a journal: a process killed at any moment leaves every run it had reported") {
  const Folder folder;
  for (const int reported : {0, 1, 7, 60}) {
    const std::string path = folder / ("killed" + std::to_string(reported));
    int channel[2];
    REQUIRE(::pipe(channel) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(channel[0]);
      RunJournal journal(path, "a sweep");
      for (int i = 0;; ++i) {
        if (::write(channel[1], "x", 1) != 1) ::_exit(1);
        journal.append(made_up_run(i));
      }
    }
    ::close(channel[1]);
    char byte = 0;
    // The first byte says that the journal is open, each further one that another run is on disk.
    for (int i = 0; i <= reported; ++i) REQUIRE(::read(channel[0], &byte, 1) == 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(channel[0]);
    RunJournal journal(path, "a sweep");  // its lock died with it
    const auto found = static_cast<int>(journal.initial_contents().records.size());
    CHECK(found >= reported);
    CHECK(holds_runs(journal.initial_contents().records, found));
  }
}

TEST_CASE("a journal: only the sweep that began it goes on with it, and only one at a time") {
  const Folder folder;
  const std::string path = folder / "a.journal";
  write_runs(path, 2);
  const std::string before = bytes_of(path);
  const std::string other = complaint([&] { RunJournal(path, "another sweep"); });
  CHECK(holds(other, path + ": belongs to another sweep, of which it keeps 2 finished runs"));
  CHECK(holds(other, "delete it"));
  CHECK(bytes_of(path) == before);

  std::optional<RunJournal> first(std::in_place, path, "a sweep");
  CHECK(holds(complaint([&] { RunJournal(path, "a sweep"); }), "another process is writing to this journal"));
  CHECK(read_journal(path)->records.size() == 2);  // looking is allowed
  first.reset();
  CHECK(complaint([&] { RunJournal(path, "a sweep"); }) == "no error");

  // Many begin at once where there is none yet: one gets it.
  for (int round = 0; round < 20; ++round) {
    const std::string fresh = folder / ("fresh" + std::to_string(round));
    std::vector<std::unique_ptr<RunJournal>> journals(6);
    std::vector<std::thread> threads;
    for (auto& journal : journals)
      threads.emplace_back([&] {
        try {
          journal = std::make_unique<RunJournal>(fresh, "a sweep");
        } catch (const Error&) {
          journal = nullptr;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(std::count(journals.begin(), journals.end(), nullptr) == 5);
  }
}

TEST_CASE("a journal: one that keeps no run makes way for another sweep, one that may keep some does not") {
  const Folder folder;
  const std::string path = folder / "a.journal";
  write_runs(path, 0);
  CHECK(complaint([&] { RunJournal(path, "another sweep"); }) == "no error");
  CHECK(read_journal(path)->header_text == "another sweep");
  std::ofstream(path, std::ios::app | std::ios::binary) << "half a record";
  const std::string before = bytes_of(path);
  CHECK(holds(complaint([&] { RunJournal(path, "a third"); }), "belongs to another sweep"));
  CHECK(bytes_of(path) == before);
}

TEST_CASE("a journal: foreign files, folders and pipes are left alone") {
  const Folder folder;
  for (const std::string& text : {std::string(), std::string("x"), std::string("my precious notes, not a journal")}) {
    write_bytes(folder / "notes", text);
    CHECK(holds(complaint([&] { RunJournal(folder / "notes", "a sweep"); }), "is not a journal of runs"));
    CHECK(holds(complaint([&] { read_journal(folder / "notes"); }), "is not a journal of runs"));
    CHECK(bytes_of(folder / "notes") == text);
  }
  fs::create_directory(folder / "folder");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const std::string name : {"folder", "pipe"}) {
    CAPTURE(name);
    CHECK(holds(complaint([&] { RunJournal(folder / name, "a sweep"); }), (folder / name) + ": "));
    CHECK(holds(complaint([&] { read_journal(folder / name); }), (folder / name) + ": is not a file"));
  }
  CHECK(holds(complaint([&] { RunJournal(folder / "none/a.journal", "a sweep"); }), "does not exist"));
  fs::create_symlink(folder / "nowhere", folder / "link");
  CHECK(holds(complaint([&] { RunJournal(folder / "link", "a sweep"); }), "give another name"));

  write_runs(folder / "later", 0);
  std::string bytes = bytes_of(folder / "later");
  bytes[8] = 2;
  write_bytes(folder / "later", bytes);
  CHECK(holds(complaint([&] { read_journal(folder / "later"); }), "is a journal of version 2"));
}

TEST_CASE("a journal: a full disk keeps the finished runs, says how to go on, and so it does") {
  const Folder folder;
  const std::vector<std::size_t> sizes = write_runs(folder / "whole", 6);
  const std::string bytes = bytes_of(folder / "whole");
  for (std::size_t limit = 0; limit < sizes.back(); limit += 37) {
    CAPTURE(limit);
    const std::string path = folder / "a.journal";
    fs::remove(path);
    if (limit < sizes[0]) {
      const SmallFiles small(limit);
      CHECK(holds(complaint([&] { RunJournal(path, "a sweep"); }), "nothing appeared under this name"));
      CHECK_FALSE(fs::exists(path));
      continue;
    }
    const auto fit = static_cast<int>(std::upper_bound(sizes.begin(), sizes.end(), limit) - sizes.begin() - 1);
    RunJournal journal(path, "a sweep");
    {
      const SmallFiles small(limit);
      for (int i = 0; i < fit; ++i) journal.append(made_up_run(i));
      const std::string message = complaint([&] { journal.append(made_up_run(fit)); });
      CHECK(holds(message, path + ": cannot record a finished run: File too large; the " + std::to_string(fit) +
                               " finished runs before it are kept here: free some space, then go on with --resume"));
      CHECK(fs::file_size(path) == sizes[static_cast<std::size_t>(fit)]);
    }
    CHECK(holds_runs(read_journal(path)->records, fit));
    // There is space again.
    for (int i = fit; i < 6; ++i) journal.append(made_up_run(i));
    CHECK(bytes_of(path) == bytes);
  }
}

TEST_CASE("a journal: threads that share a full disk each learn whether their run is kept") {
  const Folder folder;
  const std::string path = folder / "a.journal";
  const std::vector<std::size_t> sizes = write_runs(folder / "whole", 40);
  RunJournal journal(path, "a sweep");
  std::vector<int> kept(40, 0);
  {
    const SmallFiles small(sizes[20]);
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; ++i)
      threads.emplace_back([&, i] {
        kept[static_cast<std::size_t>(i)] = complaint([&] { journal.append(made_up_run(i)); }) == "no error" ? 1 : 0;
      });
    for (std::thread& thread : threads) thread.join();
  }
  const auto contents = read_journal(path);
  CHECK(contents->torn_bytes == 0);
  CHECK(std::count(kept.begin(), kept.end(), 1) == static_cast<std::ptrdiff_t>(contents->records.size()));
  CHECK(contents->records.size() < 40);
  for (const RunRecord& run : contents->records) CHECK(kept[static_cast<std::size_t>(run.seed + 1)] == 1);
}

TEST_CASE("a journal: deleted under the sweep, it does not pretend to keep runs; removed on purpose, it is gone") {
  const Folder folder;
  const std::string path = folder / "a.journal";
  {
    RunJournal journal(path, "a sweep");
    journal.append(made_up_run(0));
    fs::remove(path);
    CHECK(holds(complaint([&] { journal.append(made_up_run(1)); }), "was deleted or replaced"));
    CHECK(holds(complaint([&] { journal.append(made_up_run(2)); }), "earlier failure"));
  }
  {
    RunJournal journal(path, "a sweep");
    CHECK(journal.initial_contents().records.empty());
    journal.append(made_up_run(0));
    journal.remove();
    CHECK_FALSE(fs::exists(path));
  }
  RunJournal again(path, "a sweep");
  CHECK(again.initial_contents().records.empty());
}

TEST_CASE("a journal: runs that no archive could hold are refused at once") {
  const Folder folder;
  RunJournal journal(folder / "a.journal", "a sweep");
  RunRecord run = made_up_run(3);
  run.regret.pop_back();
  CHECK(holds(complaint([&] { journal.append(run); }), "runs/regret: the run pricing/größer, seed 2, has 2 entries"));
  run = made_up_run(3);
  run.numbers["seed"] = 1;
  CHECK(holds(complaint([&] { journal.append(run); }), "runs/seed: "));
  run = made_up_run(3);
  run.numbers["a/b"] = 1;
  CHECK(holds(complaint([&] { journal.append(run); }), "cannot be called so"));
  run = made_up_run(3);
  run.curves["l2"] = run.loss;
  CHECK(holds(complaint([&] { journal.append(run); }), "both a number and a curve"));
  CHECK(read_journal(folder / "a.journal")->records.empty());
}

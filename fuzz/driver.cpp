// Runs a fuzz target without libFuzzer: replays inputs, and mutations of them.
//
//   fuzz_TARGET [--mutate N] [--seed S] [--keep FOLDER] FILE|FOLDER...
//
// An input that crashes, or takes longer than ten seconds of the processor, ends the process; with --keep every input
// runs in a process of its own, those that end badly are kept in the folder, and the rest go on.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "mutate.hpp"
#include "target.hpp"

namespace {

namespace fs = std::filesystem;
using scrm::fuzzing::Random;

constexpr time_t kSeconds = 10;
// Of the clock, for one that waits for ever. A machine that is busy may let even a good one wait for long.
constexpr unsigned kPatience = 300;

struct Options {
  std::int64_t mutations = 0;
  std::uint64_t seed = 1;
  std::string keep;
  std::vector<std::string> paths;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "%s\nusage: fuzz_TARGET [--mutate N] [--seed S] [--keep FOLDER] FILE|FOLDER...\n",
               message.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] { return ++i < argc ? std::string(argv[i]) : (fail(name + " needs a value"), ""); };
    if (name == "--mutate") {
      options.mutations = std::atoll(value().c_str());
    } else if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(std::atoll(value().c_str()));
    } else if (name == "--keep") {
      options.keep = value();
    } else {
      options.paths.push_back(name);
    }
  }
  if (options.paths.empty()) fail("there is nothing to replay");
  return options;
}

std::string read_whole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Files as they are given, those of folders in the order of their names.
std::vector<fs::path> list_files(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) inside.push_back(entry.path());
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

void limit_time(time_t seconds, unsigned patience) {
  const itimerval busy{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &busy, nullptr);
  alarm(patience);
}

void run(const std::string& input) {
  limit_time(kSeconds, kPatience);
  // A copy of exactly this size, so that sanitizers see a step beyond its end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  limit_time(0, 0);
}

class Runner {
 public:
  explicit Runner(std::string keep) : keep_(std::move(keep)) {
    if (!keep_.empty()) fs::create_directories(keep_);
    scrm::fuzzing::folder();  // made here, so that children do not remove it
  }

  void operator()(const std::string& input) {
    ++executions_;
    if (keep_.empty()) return run(input);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      const rlimit no_core{0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      run(input);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) fail("no process could be started");
    if (status == 0) return;
    ++failures_;
    const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit";
    const fs::path path = fs::path(keep_) / (std::to_string(executions_) + "-" + how.substr(0, how.find(' ')));
    std::ofstream(path, std::ios::binary) << input;
  }

  std::int64_t executions() const { return executions_; }
  std::int64_t failures() const { return failures_; }

 private:
  std::string keep_;
  std::int64_t executions_ = 0;
  std::int64_t failures_ = 0;
};

/// Says which input was the last: the one that ended the process.
std::string current;
void report_current(int signal) {
  const bool hangs = signal == SIGPROF || signal == SIGALRM;
  const char* text = hangs ? "fuzz: more than ten seconds with " : "fuzz: ended by ";
  static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
  static_cast<void>(!write(STDERR_FILENO, current.data(), current.size()));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  for (const int signal : {SIGPROF, SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, report_current);
  const auto begin = std::chrono::steady_clock::now();
  Runner runner(options.keep);
  std::vector<std::string> inputs;
  for (const fs::path& file : list_files(options.paths)) {
    inputs.push_back(read_whole(file));
    current = file.string();
    runner(inputs.back());
  }
  if (inputs.empty()) fail("the folders hold no files");
  for (std::int64_t i = 0; i < options.mutations; ++i) {
    // By its own number, so that one of them can be made again alone.
    Random random(options.seed * 0x2545f4914f6cdd1dULL + static_cast<std::uint64_t>(i));
    current = "mutation " + std::to_string(i) + " of seed " + std::to_string(options.seed);
    runner(scrm::fuzzing::mutate(inputs, random));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%zu inputs, %lld executions, %lld failed, %.0f executions/s\n", inputs.size(),
              static_cast<long long>(runner.executions()), static_cast<long long>(runner.failures()),
              static_cast<double>(runner.executions()) / seconds);
  return runner.failures() == 0 ? 0 : 1;
}

#include "cli/outputs.hpp"

#include <fmt/format.h>

#include <csignal>

#include "report/terminal.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/file/temporaries.hpp"

namespace scrm {

void report_leftovers(const std::string& out, const CommonOptions& common) {
  if (out.empty()) return;
  const Leftovers found = clear_leftovers(out);
  if (found.restored) {
    print_warning(
        fmt::format("{}: a process was killed while it replaced this folder; the folder is as it was before", out),
        common.quiet);
  }
  for (const std::string& path : found.removed) {
    print_warning(fmt::format("removed {}, which a killed process had left", path), common.quiet);
  }
}

void prepare_output_file(const std::string& out, const std::vector<std::string>& inputs, bool overwrite,
                         const CommonOptions& common) {
  require_not_input(out, inputs);
  require_replaceable(out, overwrite);
  report_leftovers(out, common);
}

void prepare_output_folder(const std::string& out, const std::vector<std::string>& inputs,
                           const CommonOptions& common) {
  require_not_input(out, inputs);
  report_leftovers(out, common);
}

void end_by_signal(int signal) {
  clear_open_line();
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void set_up_signals() {
  // A closed pipe is seen where output is flushed, after files are complete; the default would kill us in mid-write.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What was ignored stays so: that is what nohup, and shells for background jobs, ask for.
    if (std::signal(signal, end_by_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace scrm

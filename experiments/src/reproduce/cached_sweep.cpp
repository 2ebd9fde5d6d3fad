#include "reproduce/cached_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "report/version.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/fnv_hash.hpp"

namespace scrm {
namespace {

bool all_succeeded(const ResultArchive& archive) {
  return std::all_of(archive.runs.begin(), archive.runs.end(), [](const RunRecord& run) { return run.ok; });
}

}  // namespace

std::string cached_archive(const SweepRequest& request, const std::string& folder) {
  const std::string version_now = version();
  std::uint64_t hash = fnv_hash(request.text.data(), request.text.size());
  hash = fnv_hash(version_now.data(), version_now.size(), hash);
  return (std::filesystem::path(folder) / fmt::format("{}-{:016x}.h5", request.name, hash)).string();
}

ResultArchive cached_sweep(const SweepRequest& request, const CacheOptions& options) {
  SweepOptions sweep;
  sweep.out = cached_archive(request, options.folder);
  const bool there = std::filesystem::exists(sweep.out);
  if (there) {
    ResultArchive archive = read_archive(sweep.out);
    if (all_succeeded(archive)) return archive;
  }
  sweep.resume = there || std::filesystem::exists(sweep_journal(sweep.out));
  sweep.threads = options.threads;
  sweep.memory = options.memory;
  sweep.stop = options.stop;
  sweep.on_progress = options.on_progress;
  sweep.on_warning = options.on_warning;
  const std::string file = std::filesystem::path(sweep.out).replace_extension(".toml").string();
  write_text_file(file, request.text);
  const SweepReport report = run_sweep(SweepFile(file), sweep);
  if (report.unfinished > 0)
    throw Error(ErrorKind::run,
                fmt::format("stopped on request: {} of the runs of {} are finished and kept; the same command goes on",
                            report.runs.size(), request.name));
  return read_archive(sweep.out);
}

}  // namespace scrm

#include "cli/startup/rank_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "report/version.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/kernels/vector/isa.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

/// FNV-1a.
class Digest {
 public:
  void add(const char* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      hash_ = (hash_ ^ static_cast<unsigned char>(data[i])) * 0x100000001B3U;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

/// The first and the last bytes of a file, which hold a format's header and what was written last.
void add_ends(const fs::path& path, std::uintmax_t size, Digest& digest) {
  constexpr std::uintmax_t kEnd = 4096;
  std::array<char, kEnd> buffer;
  std::ifstream file(path, std::ios::binary);
  for (const std::uintmax_t at : {std::uintmax_t{0}, size > kEnd ? size - kEnd : std::uintmax_t{0}}) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    file.read(buffer.data(), buffer.size());
    digest.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
}

struct Content {
  std::uintmax_t files = 0, bytes = 0;
  Digest digest;

  void add(const fs::path& path) {
    std::error_code ignored;
    const std::uintmax_t size = fs::file_size(path, ignored);
    if (ignored) return;
    ++files;
    bytes += size;
    const std::string name = path.filename().string();
    digest.add(name.data(), name.size());
    add_ends(path, size, digest);
  }
  std::string text() const { return fmt::format("{} files of {} bytes ({:016x})", files, bytes, digest.value()); }
};

RankFact input_fact(const std::string& argument) {
  std::error_code ignored;
  if (!fs::exists(argument, ignored)) return {argument, "not there"};
  std::vector<fs::path> paths;
  if (fs::is_directory(argument, ignored)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(argument, ignored)) {
      if (entry.is_regular_file(ignored) && entry.path().extension() == ".h5") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
  } else {
    paths.emplace_back(argument);
  }
  Content content;
  for (const fs::path& path : paths) content.add(path);
  return {argument, content.text()};
}

}  // namespace

std::vector<RankFact> rank_facts(const std::vector<std::string>& arguments) {
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size("/proc/self/exe", ignored);
  std::vector<RankFact> facts = {{"version", fmt::format("{} ({} bytes)", version(), size)},
                                 {"instruction set", active_isa()},
                                 {"kernels of OpenBLAS", openblas_core()},
                                 {"arguments", fmt::format("`{}`", fmt::join(arguments, " "))}};
  for (std::size_t a = 1; a < arguments.size(); ++a) {
    if (!arguments[a].starts_with('-')) facts.push_back(input_fact(arguments[a]));
  }
  return facts;
}

}  // namespace scrm

#include "cli/archive_memory.hpp"

#include <filesystem>

namespace scrm {

void charge_archive(const std::string& path, MemoryLedger& ledger, const std::string& what) {
  // Runs in memory and the columns that are made of them, over the bytes of the file: each about twice.
  constexpr std::size_t kMemoryPerFileByte = 4;
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(path, missing);
  if (!missing) ledger.charge(kMemoryPerFileByte * static_cast<std::size_t>(bytes), what);
}

}  // namespace scrm

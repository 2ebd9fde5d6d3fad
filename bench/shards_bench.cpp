/// The value pass from shards in the page cache, against the same pass in memory and against other ways to the bytes.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <hdf5.h>
#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/pass/write_shards.hpp"
#include "shared/folder.hpp"
#include "shared/logs.hpp"
#include "shared/paired.hpp"

namespace scrm::bench {
namespace {

// Two million rows, 213 MB uncompressed: beyond the caches, and soon written.
constexpr std::int64_t kBlocks = 1000;
constexpr int kShards = 4;

struct Data {
  MemorySource memory = memory_logs(kBlocks);
  Folder folder;
  std::string plain = write("plain", false);
  std::string gzip = write("gzip", true);

  std::string write(const char* name, bool compress) {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path);
    WriteOptions options;
    options.gzip = compress;
    write_shards(memory, plan_shards(path.string(), memory.rows(), kShards), options, PassOptions{});
    return path.string();
  }
};

Data& data() {
  static Data instance;
  return instance;
}

int all_threads() {
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::vector<NamedPolicy> policies() {
  return {{"target", make_target_policy(target_policy(), schema(), "target")}};
}

EvaluationReport run_evaluate(Source& source) {
  PassOptions options;
  options.threads = all_threads();
  return evaluate(source, policies(), EvaluateOptions{}, options);
}

// Opening included: what `scrm evaluate` does.
EvaluationReport evaluate_shards(const std::string& path) {
  ShardSource source(Dataset({path}, ReadOptions{}));
  return run_evaluate(source);
}

// Also shows the value, which ratios.py compares with NumPy's.
void require_right(benchmark::State& state, const EvaluationReport& report) {
  const Expected truth = expected(kBlocks, target_policy());
  const PolicyReport& policy = report.policies[0];
  if (!truth.agrees(policy.diagnostics.mean_weight.value(), policy.estimates[0].value.value())) {
    state.SkipWithError("the value is wrong");
  }
  state.counters["value"] = policy.estimates[0].value.value();
}

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path().string());
  return out;
}

// Every byte of the files, as they are, on all threads, each into a buffer of its own that begins with a page.
std::int64_t read_all(const std::string& folder) {
  constexpr std::size_t kBuffer = std::size_t{128} << 10;
  const std::vector<std::string> paths = files(folder);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::int64_t> total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < all_threads(); ++t) {
    threads.emplace_back([&] {
      const std::unique_ptr<void, decltype(&std::free)> buffer(std::aligned_alloc(4096, kBuffer), &std::free);
      for (std::size_t i; (i = next++) < paths.size();) {
        const int file = open(paths[i].c_str(), O_RDONLY);
        std::int64_t offset = 0;
        ssize_t got;
        while ((got = pread(file, buffer.get(), kBuffer, offset)) > 0) offset += got;
        close(file);
        total += offset;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return total;
}

// Every number of the data set through HDF5's own reader, one hyperslab of a chunk's rows at a time; the sum of losses.
double read_with_hdf5(const std::string& folder) {
  constexpr hsize_t kRows = 65536;
  static std::vector<double> buffer(kRows * kFeatures);
  double loss = 0;
  for (const std::string& path : files(folder)) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (const char* name : {"context", "action", "propensity", "loss"}) {
      const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
      const hid_t space = H5Dget_space(set);
      hsize_t size[2] = {0, 1};
      H5Sget_simple_extent_dims(space, size, nullptr);
      for (hsize_t first = 0; first < size[0]; first += kRows) {
        const hsize_t start[2] = {first, 0};
        const hsize_t count[2] = {std::min(kRows, size[0] - first), size[1]};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
        const hid_t memory = H5Screate_simple(H5Sget_simple_extent_ndims(space), count, nullptr);
        H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, buffer.data());
        H5Sclose(memory);
        if (std::string(name) == "loss") {
          for (hsize_t i = 0; i < count[0]; ++i) loss += buffer[i];
        }
      }
      H5Sclose(space);
      H5Dclose(set);
    }
    H5Fclose(file);
  }
  return loss;
}

void count_bytes(benchmark::State& state) {
  const double bytes = static_cast<double>(kBlocks) * kBlockRows * kRowBytes;
  state.counters["GB/s"] = bytes / state.counters["subject_s"] * 1e-9;
  state.counters["reference_GB/s"] = bytes / state.counters["reference_s"] * 1e-9;
  state.counters["Mrows/s"] = static_cast<double>(kBlocks) * kBlockRows / state.counters["subject_s"] * 1e-6;
}

void shards_against_memory(benchmark::State& state) {
  EvaluationReport memory, shards;
  measure_pair(
      state, [&] { memory = run_evaluate(data().memory); }, [&] { shards = evaluate_shards(data().plain); });
  require_right(state, shards);
  if (memory.policies[0].estimates[0].value != shards.policies[0].estimates[0].value) {
    state.SkipWithError("files changed the bits");
  }
  count_bytes(state);
}

/// The chunks of a compressed data set as its files hold them, and how long each is when inflated.
struct PackedChunk {
  std::vector<char> bytes;
  std::size_t inflated;
};

std::vector<PackedChunk> packed_chunks(const std::string& folder) {
  std::vector<PackedChunk> out;
  for (const std::string& path : files(folder)) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (const char* name : {"context", "action", "propensity", "loss"}) {
      const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
      const hid_t creation = H5Dget_create_plist(set);
      hsize_t shape[2] = {1, 1};
      H5Pget_chunk(creation, 2, shape);
      hsize_t chunks = 0;
      const hid_t space = H5Dget_space(set);
      H5Dget_num_chunks(set, space, &chunks);
      for (hsize_t index = 0; index < chunks; ++index) {
        hsize_t offset[2] = {0, 0}, size = 0;
        unsigned mask = 0;
        haddr_t address = 0;
        H5Dget_chunk_info(set, space, index, offset, &mask, &address, &size);
        PackedChunk chunk{std::vector<char>(size), shape[0] * shape[1] * sizeof(double)};
        std::uint32_t filters = 0;
        H5Dread_chunk(set, H5P_DEFAULT, offset, &filters, chunk.bytes.data());
        out.push_back(std::move(chunk));
      }
      H5Sclose(space);
      H5Pclose(creation);
      H5Dclose(set);
    }
    H5Fclose(file);
  }
  return out;
}

// Nothing but libdeflate, on all threads, each with its own output; whether every chunk came out whole.
bool inflate_all(const std::vector<PackedChunk>& chunks) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> good = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < all_threads(); ++t) {
    threads.emplace_back([&] {
      libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
      std::vector<char> plain;
      for (std::size_t i; (i = next++) < chunks.size();) {
        plain.resize(std::max(plain.size(), chunks[i].inflated));
        if (libdeflate_zlib_decompress(decompressor, chunks[i].bytes.data(), chunks[i].bytes.size(), plain.data(),
                                       chunks[i].inflated, nullptr) != LIBDEFLATE_SUCCESS) {
          good = false;
        }
      }
      libdeflate_free_decompressor(decompressor);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return good;
}

void shards_against_libdeflate(benchmark::State& state) {
  const std::vector<PackedChunk> chunks = packed_chunks(data().gzip);
  bool good = false;
  EvaluationReport shards;
  measure_pair(
      state, [&] { good = inflate_all(chunks); }, [&] { shards = evaluate_shards(data().gzip); });
  require_right(state, shards);
  if (!good) state.SkipWithError("libdeflate found a chunk damaged");
  count_bytes(state);
}

void shards_against_pread(benchmark::State& state) {
  std::int64_t bytes = 0;
  EvaluationReport shards;
  measure_pair(
      state, [&] { bytes = read_all(data().plain); }, [&] { shards = evaluate_shards(data().plain); });
  require_right(state, shards);
  if (bytes < static_cast<std::int64_t>(kBlocks * kBlockRows * kRowBytes)) state.SkipWithError("files are too short");
  count_bytes(state);
}

// Argument: whether the shards are compressed.
void shards_against_hdf5(benchmark::State& state) {
  const std::string& path = state.range(0) != 0 ? data().gzip : data().plain;
  double loss = 0;
  EvaluationReport shards;
  measure_pair(
      state, [&] { loss = read_with_hdf5(path); }, [&] { shards = evaluate_shards(path); });
  require_right(state, shards);
  const double mean = loss / (static_cast<double>(kBlocks) * kBlockRows);
  if (std::abs(mean / shards.loss.true_mean() - 1) > 1e-9) state.SkipWithError("HDF5 read something else");
  count_bytes(state);
}

BENCHMARK(shards_against_memory)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(11);
BENCHMARK(shards_against_pread)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(11);
BENCHMARK(shards_against_libdeflate)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(7);
BENCHMARK(shards_against_hdf5)->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(7);

}  // namespace
}  // namespace scrm::bench

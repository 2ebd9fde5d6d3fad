// Bytes to a run's record and back, a run's record to bytes and back, and rows through a shard and back.
#include <cmath>
#include <cstring>
#include <vector>

#include "scrm/io/archive/run_serialization.hpp"
#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "support/runs.hpp"
#include "target.hpp"

namespace {

using namespace scrm;

/// Takes what is asked for from the front of the input, zeros when it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  template <class T>
  T next() {
    T value{};
    const std::size_t size = std::min(sizeof value, left_);
    if (size > 0) std::memcpy(&value, data_, size);
    data_ += size;
    left_ -= size;
    return value;
  }
  std::string text() {
    const std::size_t size = std::min<std::size_t>(next<std::uint8_t>(), left_);
    std::string out(reinterpret_cast<const char*>(data_), size);
    data_ += size;
    left_ -= size;
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

RunRecord record_of(Bytes bytes) {
  RunRecord run;
  run.environment = bytes.text();
  run.method = bytes.text();
  run.hyperparameter = bytes.next<double>();
  run.lambda_rule = bytes.text();
  run.seed = bytes.next<std::int64_t>();
  run.identity = bytes.text();
  run.ok = (bytes.next<std::uint8_t>() & 1U) != 0;
  run.message = bytes.text();
  run.final_loss = bytes.next<double>();
  for (int i = bytes.next<std::uint8_t>() % 16; i > 0; --i) {
    run.loss.push_back(bytes.next<double>());
    run.rows.push_back(bytes.next<std::int64_t>());
    run.regret.push_back(bytes.next<double>());
    run.numbers[bytes.text()] = bytes.next<double>();
    run.curves[bytes.text()] = {bytes.next<double>(), bytes.next<double>()};
  }
  for (int i = bytes.next<std::uint8_t>(); i > 0; --i) run.theta.push_back(bytes.next<double>());
  return run;
}

void check_records(const std::uint8_t* data, std::size_t size) {
  if (const auto run = deserialize_run(fuzzing::text_of(data, size))) {
    fuzzing::require(serialize_run(*run) == fuzzing::text_of(data, size), "bytes of a record come back");
  }
  const RunRecord run = record_of({data, size});
  const auto again = deserialize_run(serialize_run(run));
  fuzzing::require(again && testing::same_run(run, *again), "a record comes back, to the bit");
}

/// Rows of two features whose values are the input's, those that are no numbers replaced.
void check_rows(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kRowNumbers = 5;
  Schema schema;
  schema.features = 2;
  BlockBuffer written(schema);
  Bytes bytes(data, size);
  const int rows = static_cast<int>(std::min<std::size_t>(kBlockRows, size / (kRowNumbers * sizeof(double))));
  const auto number = [&bytes] {
    const auto value = bytes.next<double>();
    return std::isfinite(value) ? value : 1.0;
  };
  for (int i = 0; i < rows; ++i) {
    written.context_f64()[i] = number();
    written.context_f64()[kBlockRows + i] = number();
    written.action()[i] = number();
    written.loss()[i] = number();
    const double propensity = std::abs(number());
    written.propensity()[i] = propensity > 0 ? propensity : 1.0;
  }
  WriteOptions options;
  options.gzip = size % 2 == 0;
  options.chunk_rows = size % 3 == 0 ? 7 : 0;
  const std::string path = fuzzing::path_of("rows.h5");
  std::remove(path.c_str());
  ShardWriter writer(path, schema, options);
  if (rows > 0) writer.append(written.view(0, rows));
  writer.commit();

  Dataset shards({path}, {});
  fuzzing::require(shards.rows() == rows, "as many rows come back");
  if (rows == 0) return;
  BlockBuffer read(shards.schema());
  Audit audit;
  fuzzing::require(shards.fetch(0, rows)->decode(0, rows, read, audit) == rows, "no row is bad");
  const auto same = [rows](const double* a, const double* b) {
    return std::memcmp(a, b, static_cast<std::size_t>(rows) * sizeof(double)) == 0;
  };
  fuzzing::require(same(read.context_f64(), written.context_f64()) &&
                       same(read.context_f64() + kBlockRows, written.context_f64() + kBlockRows) &&
                       same(read.action(), written.action()) && same(read.loss(), written.loss()) &&
                       same(read.propensity(), written.propensity()),
                   "rows come back, to the bit");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_records(data, size);
  check_rows(data, size);
  return 0;
}

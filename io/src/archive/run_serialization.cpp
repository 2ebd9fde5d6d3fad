#include "archive/run_serialization.hpp"

#include <bit>
#include <utility>

namespace scrm {
namespace {

template <class T>
void put(std::string& out, T value) {
  for (unsigned shift = 0; shift < 8 * sizeof value; shift += 8) out += static_cast<char>((value >> shift) & 0xFF);
}

template <class T>
T get(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  return value;
}

/// Fields one behind the other; lists and texts begin with their length.
class Writer {
 public:
  void field(const std::string& text) {
    put_u64(bytes, text.size());
    bytes += text;
  }
  void field(bool value) { bytes += value ? '\1' : '\0'; }
  void field(double value) { put_u64(bytes, std::bit_cast<std::uint64_t>(value)); }
  void field(std::int64_t value) { put_u64(bytes, static_cast<std::uint64_t>(value)); }
  template <class T>
  void field(const std::vector<T>& values) {
    put_u64(bytes, values.size());
    for (const T value : values) field(value);
  }
  template <class T>
  void field(const std::map<std::string, T>& values) {
    put_u64(bytes, values.size());
    for (const auto& [key, value] : values) {
      field(key);
      field(value);
    }
  }

  std::string bytes;
};

/// The same in reverse. Once something does not fit, everything else reads as empty and good() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  /// Everything fitted and nothing is left.
  bool good() const { return good_ && bytes_.empty(); }

  void field(std::string& text) { text = take(count(1)); }
  void field(bool& value) {
    const std::string_view byte = take(1);
    value = !byte.empty() && byte[0] != '\0';
  }
  void field(double& value) { value = std::bit_cast<double>(number()); }
  void field(std::int64_t& value) { value = static_cast<std::int64_t>(number()); }
  template <class T>
  void field(std::vector<T>& values) {
    values.resize(count(sizeof(T)));
    for (T& value : values) field(value);
  }
  template <class T>
  void field(std::map<std::string, T>& values) {
    for (std::size_t left = count(2 * sizeof(std::uint64_t)); left > 0 && good_; --left) {
      std::string key;
      field(key);
      field(values[key]);
    }
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number() {
    const std::string_view taken = take(sizeof(std::uint64_t));
    return taken.empty() ? 0 : get_u64(taken);
  }
  /// A length; never more than the bytes that are left can hold, so that nonsense does not allocate.
  std::size_t count(std::size_t least_size) {
    const std::uint64_t value = number();
    if (value <= bytes_.size() / least_size) return value;
    good_ = false;
    return 0;
  }

  std::string_view bytes_;
  bool good_ = true;
};

/// The one list of fields, so that writing and reading cannot differ.
template <class Run, class Direction>
void each_field(Run& run, Direction& direction) {
  direction.field(run.environment);
  direction.field(run.method);
  direction.field(run.hyperparameter);
  direction.field(run.lambda_rule);
  direction.field(run.seed);
  direction.field(run.identity);
  direction.field(run.ok);
  direction.field(run.message);
  direction.field(run.final_loss);
  direction.field(run.seconds);
  direction.field(run.loss);
  direction.field(run.rows);
  direction.field(run.regret);
  direction.field(run.theta);
  direction.field(run.numbers);
  direction.field(run.curves);
}

}  // namespace

void put_u32(std::string& out, std::uint32_t value) {
  put(out, value);
}

void put_u64(std::string& out, std::uint64_t value) {
  put(out, value);
}

std::uint32_t get_u32(std::string_view bytes) {
  return get<std::uint32_t>(bytes);
}

std::uint64_t get_u64(std::string_view bytes) {
  return get<std::uint64_t>(bytes);
}

std::string serialize_run(const RunRecord& run) {
  Writer writer;
  each_field(run, writer);
  return std::move(writer.bytes);
}

std::optional<RunRecord> deserialize_run(std::string_view bytes) {
  RunRecord run;
  Reader reader(bytes);
  each_field(run, reader);
  if (!reader.good()) return std::nullopt;
  return run;
}

}  // namespace scrm

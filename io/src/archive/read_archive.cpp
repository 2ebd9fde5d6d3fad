#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <type_traits>

#include "archive/archive_layout.hpp"
#include "hdf5/hdf5_file.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

using Texts = std::vector<std::string>;

class ArchiveReader {
 public:
  explicit ArchiveReader(const std::string& path) : path_(path), file_(path, nullptr) {}

  ResultArchive read();

 private:
  void read_attributes();
  void read_plain_columns();
  void read_theta();
  void read_curves();
  void read_extras();

  /// The shape of a dataset, which must have as many rows as there are runs.
  std::vector<std::int64_t> shape(const std::string& name, std::size_t rank) const;
  /// One value a run.
  Texts texts(const std::string& name) const;
  template <class T>
  std::vector<T> numbers(const std::string& name, std::size_t rank = 1) const;
  /// One row a run: what the run has of it, without the padding.
  template <class T>
  std::vector<std::vector<T>> curves(const std::string& name) const;
  Texts names_attribute(const char* name) const;

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(ErrorKind::data, what, {.file = path_, .dataset = name});
  }

  const std::string& path_;
  Hdf5File file_;
  ResultArchive archive_;
  std::vector<std::int64_t> rollouts_;  // of each run
};

std::vector<std::int64_t> ArchiveReader::shape(const std::string& name, std::size_t rank) const {
  const std::string column = "runs/" + name;
  if (file_.object_type(column) != ObjectType::dataset)
    fail(column, "there is no such dataset; the archive is not complete");
  std::vector<std::int64_t> lengths = file_.shape(column);
  if (lengths.size() != rank)
    fail(column, fmt::format("has {} dimensions, {} needed", lengths.size(), rank == 1 ? "one is" : "two are"));
  if (lengths[0] != static_cast<std::int64_t>(archive_.runs.size()) && name != "environment")
    fail(column, fmt::format("has {}, but runs/environment has {}", count_of(lengths[0], "row"), archive_.runs.size()));
  return lengths;
}

template <class T>
std::vector<T> ArchiveReader::numbers(const std::string& name, std::size_t rank) const {
  std::size_t count = 1;
  for (const std::int64_t length : shape(name, rank)) count *= static_cast<std::size_t>(length);
  std::vector<T> values;
  if constexpr (std::is_floating_point_v<T>) {
    values = file_.numbers("runs/" + name);
  } else {
    values = file_.integers("runs/" + name);
  }
  if (values.size() != count) fail("runs/" + name, "has other numbers than HDF5 said: the file is damaged");
  return values;
}

Texts ArchiveReader::texts(const std::string& name) const {
  const std::vector<std::int64_t> lengths = shape(name, 1);
  Texts texts = file_.texts("runs/" + name);
  if (texts.size() != static_cast<std::size_t>(lengths[0]))
    fail("runs/" + name, "has other texts than HDF5 said: the file is damaged");
  return texts;
}

template <class T>
std::vector<std::vector<T>> ArchiveReader::curves(const std::string& name) const {
  const auto width = static_cast<std::size_t>(shape(name, 2)[1]);
  const std::vector<T> table = numbers<T>(name, 2);
  std::vector<std::vector<T>> result;
  for (std::size_t i = 0; i < rollouts_.size(); ++i) {
    if (rollouts_[i] < 0 || static_cast<std::size_t>(rollouts_[i]) > width)
      throw Error(ErrorKind::data,
                  fmt::format("is {}, but runs/{} has {}", rollouts_[i], name, count_of(width, "column")),
                  {.file = path_, .dataset = "runs/rollouts", .row = static_cast<std::int64_t>(i)});
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(i * width);
    result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(rollouts_[i]));
  }
  return result;
}

Texts ArchiveReader::names_attribute(const char* name) const {
  const AttributeValue value = file_.attribute("runs", name);
  const std::string place = std::string("runs attribute ") + name;
  if (!value.exists) fail(place, "is missing");
  if (value.texts.size() != static_cast<std::size_t>(value.count)) fail(place, "must hold text");
  return value.texts;
}

void ArchiveReader::read_attributes() {
  const auto format = file_.text_attribute("/", "format");
  if (!format) fail("", fmt::format("has no attribute format; an archive has format = \"{}\"", kArchiveFormat));
  if (*format != kArchiveFormat)
    fail("attribute format", fmt::format("is \"{}\", \"{}\" is needed", *format, kArchiveFormat));
  const auto version = file_.integer_attribute("/", "format_version");
  if (!version)
    fail("", fmt::format("has no attribute format_version; this program reads version {}", kArchiveVersion));
  if (*version != kArchiveVersion)
    fail("attribute format_version", fmt::format("is {}, this program reads version {}", *version, kArchiveVersion));

  for (const std::string& name : file_.attribute_names("/")) {
    // Others may have added what they like; only single texts are ours.
    const AttributeValue value = file_.attribute("/", name);
    if (name != "format" && value.count == 1 && value.texts.size() == 1)
      archive_.attributes[name] = value.texts.front();
  }
}

void ArchiveReader::read_plain_columns() {
  const Texts environment = texts("environment");
  archive_.runs.resize(environment.size());
  const Texts method = texts("method"), lambda_rule = texts("lambda_rule"), identity = texts("identity"),
              status = texts("status"), message = texts("message");
  const auto hyperparameter = numbers<double>("hyperparameter"), final_loss = numbers<double>("final_loss"),
             seconds = numbers<double>("seconds");
  const auto seed = numbers<std::int64_t>("seed");
  for (std::size_t i = 0; i < archive_.runs.size(); ++i) {
    if (status[i] != "ok" && status[i] != "failed")
      throw Error(ErrorKind::data, fmt::format("is \"{}\", not \"ok\" or \"failed\"", status[i]),
                  {.file = path_, .dataset = "runs/status", .row = static_cast<std::int64_t>(i)});
    RunRecord& run = archive_.runs[i];
    run.environment = environment[i];
    run.method = method[i];
    run.hyperparameter = hyperparameter[i];
    run.lambda_rule = lambda_rule[i];
    run.seed = seed[i];
    run.identity = identity[i];
    run.ok = status[i] == "ok";
    run.message = message[i];
    run.final_loss = final_loss[i];
    run.seconds = seconds[i];
  }
}

void ArchiveReader::read_curves() {
  rollouts_ = numbers<std::int64_t>("rollouts");
  auto loss = curves<double>("loss");
  auto rows = curves<std::int64_t>("rows");
  auto regret = curves<double>("regret");
  for (std::size_t i = 0; i < archive_.runs.size(); ++i) {
    archive_.runs[i].loss = std::move(loss[i]);
    archive_.runs[i].rows = std::move(rows[i]);
    archive_.runs[i].regret = std::move(regret[i]);
  }
}

void ArchiveReader::read_theta() {
  const std::vector<std::int64_t> lengths = shape("theta", 1);
  std::vector<std::vector<double>> lists = file_.lists("runs/theta");
  if (lists.size() != static_cast<std::size_t>(lengths[0])) fail("runs/theta", "has other lists than HDF5 said");
  for (std::size_t i = 0; i < archive_.runs.size(); ++i) archive_.runs[i].theta = std::move(lists[i]);
}

void ArchiveReader::read_extras() {
  for (const std::string& name : names_attribute(kExtraNumbers)) {
    const auto column = numbers<double>(name);
    for (std::size_t i = 0; i < archive_.runs.size(); ++i)
      if (!is_absent(column[i])) archive_.runs[i].numbers[name] = column[i];
  }
  for (const std::string& name : names_attribute(kExtraCurves)) {
    auto column = curves<double>(name);
    for (std::size_t i = 0; i < archive_.runs.size(); ++i)
      if (!column[i].empty() && !is_absent(column[i].front())) archive_.runs[i].curves[name] = std::move(column[i]);
  }
}

ResultArchive ArchiveReader::read() {
  read_attributes();
  read_plain_columns();
  read_curves();
  read_theta();
  read_extras();
  return std::move(archive_);
}

}  // namespace

bool is_archive(const std::string& path) {
  try {
    return Hdf5File(path, nullptr).text_attribute("/", "format") == kArchiveFormat;
  } catch (const Error&) {
    return false;  // whoever opens it for good says what is wrong
  }
}

ResultArchive read_archive(const std::string& path) {
  try {
    return ArchiveReader(path).read();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::memory, "there is not enough memory to read this archive", {.file = path});
  }
}

}  // namespace scrm

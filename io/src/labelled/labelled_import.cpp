#include "scrm/io/labelled/labelled_import.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "labelled/labelled_csv.hpp"
#include "labelled/text_memory.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/labelled/arff.hpp"
#include "scrm/io/labelled/labelled_file.hpp"
#include "scrm/kernels/vector/ignore_case.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_usage(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::usage, what, {.file = path});
}

/// The label files that belong to an ARFF file, the most particular first.
std::vector<std::string> label_xml_candidates(const std::string& arff) {
  const fs::path path(arff);
  std::string stem = path.stem().string();
  std::vector<std::string> candidates;
  for (;;) {
    candidates.push_back((path.parent_path() / (stem + ".xml")).string());
    const std::size_t hyphen = stem.rfind('-');
    if (hyphen == std::string::npos || hyphen == 0) return candidates;
    stem.erase(hyphen);
  }
}

LabelledData read_arff_set(const std::vector<std::string>& paths, const LabelledOptions& options,
                           std::size_t max_bytes) {
  if (options.labels > 0 && !options.label_xml.empty())
    fail_usage(paths.front(), "labels are given as a number or as an .xml file, not as both");
  const bool classed = options.multiclass || !options.class_name.empty();
  if (classed && (options.labels > 0 || !options.label_xml.empty()))
    fail_usage(paths.front(), "rows have labels or a class, not both");
  if (classed) return read_arff(paths, {.class_name = options.class_name, .max_bytes = max_bytes});
  if (options.labels > 0) return read_arff(paths, {.labels = options.labels, .max_bytes = max_bytes});
  const std::string xml = options.label_xml.empty() ? find_label_xml(paths.front()) : options.label_xml;
  if (xml.empty()) {
    // Without a file that names labels, a nominal attribute at the end is the class, as Weka has it.
    const std::string unclear = fmt::format(
        "which attributes are labels? Say how many there are at the end (--labels K), name the .xml file that lists "
        "them (--label-xml FILE; there is no {}), or name the attribute that is the class (--class NAME)",
        fmt::join(label_xml_candidates(paths.front()), " and no "));
    return read_arff(paths, {.class_name = "", .class_unclear = unclear, .max_bytes = max_bytes});
  }
  return read_arff(paths, {.label_names = read_label_names(xml), .max_bytes = max_bytes});
}

LabelledData read_csv_set(const std::vector<std::string>& paths, const LabelledOptions& options,
                          std::size_t max_bytes) {
  if (paths.size() > 1) fail_usage(paths[1], "one CSV file at a time can be read as labelled data");
  if (options.class_name.empty()) fail_usage(paths.front(), "which column is the class? Name it with --class COLUMN");
  if (options.labels > 0 || !options.label_xml.empty())
    fail_usage(paths.front(), "CSV files have a column for the class and no labels");
  return read_labelled_csv(paths.front(), options, max_bytes);
}

void require_no_libsvm_options(const std::string& path, const LabelledOptions& options) {
  if (options.features > 0 || options.first_label || options.first_feature)
    fail_usage(path, "the number of features and what numbers count from are said of LIBSVM files only");
}

}  // namespace

LabelledFormat labelled_format(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  const auto is = [&ending](const char* known) { return equal_ignoring_case(ending, known); };
  if (is(".arff")) return LabelledFormat::arff;
  if (is(".libsvm") || is(".svm") || is(".txt")) return LabelledFormat::libsvm;
  if (is(".h5") || is(".hdf5")) return LabelledFormat::hdf5;
  if (is(".csv"))
    fail_usage(
        path,
        fmt::format("its ending says CSV, and which column is the class is not known; bring it in with `scrm import {} "
                    "--format csv --class COLUMN --out DATA.h5` and give that file",
                    shell_word(path)));
  fail_usage(path, "its ending does not tell what it is; .arff, .libsvm, .svm, .txt and .h5 are known");
}

std::string find_label_xml(const std::string& arff) {
  for (const std::string& candidate : label_xml_candidates(arff)) {
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

LabelledData read_any_labelled(const std::vector<std::string>& paths, const LabelledOptions& options,
                               LibsvmNumbering* numbering) {
  if (paths.empty()) throw Error(ErrorKind::usage, "there is no labelled data to read");
  const LabelledFormat format = options.format ? *options.format : labelled_format(paths.front());
  for (const std::string& path : paths)
    if (!options.format && labelled_format(path) != format)
      fail_usage(path, fmt::format("has another format than {}", paths.front()));
  require_distinct(paths);
  const std::size_t max_bytes = format == LabelledFormat::hdf5 ? 0 : require_text_fits(paths, options.memory);
  if (format == LabelledFormat::libsvm) {
    if (!options.label_xml.empty())
      fail_usage(paths.front(), "LIBSVM files number their labels; an .xml file names none");
    if (!options.class_name.empty())
      fail_usage(paths.front(), "the class of a LIBSVM file is what its rows begin with; say --multiclass");
    return read_libsvm(paths,
                       {.labels = options.labels,
                        .features = options.features,
                        .first_label = options.first_label,
                        .first_feature = options.first_feature,
                        .multiclass = options.multiclass,
                        .max_bytes = max_bytes},
                       numbering);
  }
  require_no_libsvm_options(paths.front(), options);
  if (format == LabelledFormat::arff) return read_arff_set(paths, options, max_bytes);
  if (format == LabelledFormat::csv) return read_csv_set(paths, options, max_bytes);
  if (options.labels > 0 || !options.label_xml.empty() || options.multiclass || !options.class_name.empty())
    fail_usage(paths.front(), "an HDF5 file says itself what its labels are");
  if (paths.size() > 1) fail_usage(paths[1], "only one HDF5 file at a time can be read as labelled data");
  return read_labelled(paths.front(), options.memory);
}

}  // namespace scrm

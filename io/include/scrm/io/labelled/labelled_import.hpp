/// Labelled data from any kind of file it comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"
#include "scrm/io/labelled/libsvm.hpp"

namespace scrm {

enum class LabelledFormat : std::uint8_t { arff, libsvm, csv, hdf5 };

struct LabelledOptions {
  std::optional<LabelledFormat> format = {};  ///< not given: by the files' endings
  bool multiclass = false;                    ///< ARFF, LIBSVM: rows have one class each; CSV rows always do
  std::string class_name = {};                ///< ARFF: which attribute it is; empty: the last. CSV: which column
  std::vector<std::string> context = {};      ///< CSV: names, ranges and prefixes; empty: all columns but the class
  char delimiter = ',';                       ///< CSV
  int labels = 0;                             ///< ARFF: the last so many attributes; LIBSVM: K; 0: not given
  std::string label_xml = {};                 ///< ARFF: names the labels; empty: looked for beside the file
  std::int64_t features = 0;                  ///< LIBSVM; 0: derived
  std::optional<int> first_label = {};        ///< LIBSVM
  std::optional<int> first_feature = {};      ///< LIBSVM
  std::size_t memory = 0;  ///< bytes that the data may take, with the text it is read from; 0: no limit
};

/// By the ending: .arff; .libsvm, .svm and .txt; .h5 and .hdf5. A usage Error for any other, .csv among them: it does
/// not say which column is the class.
LabelledFormat labelled_format(const std::string& path);

/// The Mulan label file beside an ARFF file: the same stem, or the stem without what follows one of its hyphens
/// (scene-train.arff: scene-train.xml, then scene.xml). Empty when there is none.
std::string find_label_xml(const std::string& arff);

/// Reads one data set out of one file or several of one format; HDF5 and CSV come as one file. ARFF files whose labels
/// nobody names are multiclass where their last attribute looks like a class. Options of another format are a usage
/// Error, data that does not fit the memory one of kind memory, before it is read where that can be known. `numbering`
/// is set for LIBSVM only.
LabelledData read_any_labelled(const std::vector<std::string>& paths, const LabelledOptions& options = {},
                               LibsvmNumbering* numbering = nullptr);

}  // namespace scrm

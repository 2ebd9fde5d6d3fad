/// Labelled data sets as HDF5 files, which h5py opens as readily as this program.
#pragma once

#include <string>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// Root attributes `format` = "scrm-labelled", `format_version` = 1 and `name`; `context` float64 [rows, features], or
/// a group of indptr, indices and values with the attribute num_features (left out without features); `label` uint8
/// [rows, labels], or for multiclass data integers [rows] with the root attribute `num_classes`; `label_names`, of
/// labels or classes, where they are known. Written atomically; with gzip, shuffled and deflated.
void write_labelled(const std::string& path, const LabelledData& data, bool gzip = false);

/// Reads such a file whole. Numbers of any type are taken; sparse entries are put in order and zeros among them left
/// out. Without `num_classes` there are as many classes as names, or as the largest number asks for. Errors name file,
/// dataset, row and value. Data that takes more than `memory` bytes (0: than the machine has) is refused before it is
/// read.
LabelledData read_labelled(const std::string& path, std::size_t memory = 0);

/// Whether this is an HDF5 file that calls itself a labelled data set; false for anything else, missing files included.
bool is_labelled(const std::string& path);

}  // namespace scrm

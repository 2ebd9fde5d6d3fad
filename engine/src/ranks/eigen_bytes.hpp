/// Vectors and matrices of Eigen as bytes.
#pragma once

#include <Eigen/Core>

#include "scrm/engine/ranks/byte_stream.hpp"

namespace scrm {

template <int Rows, int Columns>
void transfer(ByteStream& bytes, Eigen::Matrix<double, Rows, Columns>& matrix) {
  Eigen::Index rows = matrix.rows(), columns = matrix.cols();
  transfer(bytes, rows);
  transfer(bytes, columns);
  if (bytes.reads()) matrix.resize(rows, columns);
  bytes.raw(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(double));
}

}  // namespace scrm

#include "dense_algebra.hpp"

#include <algorithm>
#include <vector>

#include "scrm/io/error.hpp"

// OpenBLAS carries LAPACK but Debian's package of it has no header for these.
extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace scrm {

bool cholesky(double* a, std::int64_t n, std::int64_t leading) {
  if (n == 0) return true;
  const int order = static_cast<int>(n), lda = static_cast<int>(leading);
  int info = 0;
  dpotrf_("L", &order, a, &lda, &info);
  return info == 0;
}

void symmetric_eigen(double* a, std::int64_t n, std::span<double> values) {
  if (n == 0) return;
  const int order = static_cast<int>(n), ask = -1;
  int info = 0, integers = 0;
  double doubles = 0;
  dsyevd_("V", "L", &order, a, &order, values.data(), &doubles, &ask, &integers, &ask, &info);
  std::vector<double> work(static_cast<std::size_t>(doubles));
  std::vector<int> integer_work(static_cast<std::size_t>(integers));
  const int work_size = static_cast<int>(std::min<std::size_t>(work.size(), INT32_MAX));
  dsyevd_("V", "L", &order, a, &order, values.data(), work.data(), &work_size, integer_work.data(), &integers, &info);
  if (info != 0) throw Error(ErrorKind::run, "an eigenvalue iteration did not converge: are all numbers finite?");
}

}  // namespace scrm

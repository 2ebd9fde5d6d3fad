#include "callable_policy.hpp"

#include <fmt/format.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "scrm/engine/pass/dense_contexts.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm::python {

namespace py = pybind11;

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

constexpr double kRounding = 1e-6;  // as for probabilities that are read from files

/// What the function said of one block, kept by the thread that asked: estimators want it once more for every tile.
struct Answer {
  std::uint64_t policy = 0;
  std::int64_t first_row = -1;
  int rows = 0;
  std::vector<double> values;  // row by row
};

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

class CallablePolicy final : public TargetPolicy {
 public:
  CallablePolicy(py::object function, std::string name, const TaskContext& context)
      : function_(std::move(function)),
        name_(std::move(name)),
        stop_(context.options.stop),
        failure_(context.failure),
        number_(next_number()) {}

  ~CallablePolicy() override {
    const py::gil_scoped_acquire acquired;
    function_.release().dec_ref();
  }

  void scores(const Block&, PolicyScratch&, double*) const override {}

  void density(const Block& block, PolicyScratch&, double* out) const override {
    const std::vector<double>& values = answer(block);
    const auto width = static_cast<std::size_t>(answer_width(block));
    std::fill_n(out, kBlockRows, 1.0);
    for (int i = 0; i < block.rows; ++i) {
      const double* row = values.data() + static_cast<std::size_t>(i) * width;
      if (block.action_kind == ActionKind::continuous) out[i] = row[0];
      if (block.action_kind == ActionKind::categorical) out[i] = row[block.category[i]];
      for (int k = 0; block.action_kind == ActionKind::multilabel && k < block.num_actions; ++k)
        out[i] *= bit(block, i, k) ? row[k] : 1 - row[k];
    }
  }

  void log_density(const Block& block, PolicyScratch& scratch, double* out) const override {
    density(block, scratch, out);
    for (int i = 0; i < kBlockRows; ++i) out[i] = std::log(out[i]);
  }

  bool has_action_probabilities() const override { return true; }
  void action_probabilities(const Block& block, int first_row, int rows, double* out) const override {
    const std::vector<double>& values = answer(block);
    const auto width = static_cast<std::size_t>(answer_width(block));
    for (int i = 0; i < rows; ++i) {
      // Rows past the end of the block mean nothing.
      const auto row = static_cast<std::size_t>(std::min(first_row + i, block.rows - 1));
      for (std::size_t k = 0; k < width; ++k)
        out[k * kScoreTileRows + static_cast<std::size_t>(i)] = values[row * width + k];
    }
  }

  bool has_label_probability() const override { return true; }
  void label_probability(const Block& block, PolicyScratch&, double* out) const override {
    const std::vector<double>& values = answer(block);
    const auto width = static_cast<std::size_t>(answer_width(block));
    for (int k = 0; k < block.num_actions; ++k) {
      double* column = out + static_cast<std::int64_t>(k) * kBlockRows;
      std::fill_n(column, kBlockRows, 1.0);
      for (int i = 0; i < block.rows; ++i) {
        const double one = values[static_cast<std::size_t>(i) * width + static_cast<std::size_t>(k)];
        column[i] = bit(block, i, k) ? one : 1 - one;
      }
    }
  }

  std::size_t scratch_bytes() const override { return 0; }

 private:
  static bool bit(const Block& block, int row, int label) {
    return block.bits[static_cast<std::int64_t>(label) * kBlockRows + row] != 0;
  }
  static std::int64_t answer_width(const Block& block) {
    return block.action_kind == ActionKind::continuous ? 1 : block.num_actions;
  }

  const std::vector<double>& answer(const Block& block) const {
    thread_local Answer kept;
    if (kept.policy == number_ && kept.first_row == block.first_row && kept.rows == block.rows) return kept.values;
    kept.policy = 0;
    if (block.rows > 0) ask(block, kept.values);
    kept.policy = number_;
    kept.first_row = block.first_row;
    kept.rows = block.rows;
    return kept.values;
  }

  void ask(const Block& block, std::vector<double>& out) const {
    std::vector<double> dense;
    append_dense_contexts(block, dense);
    const py::gil_scoped_acquire acquired;
    try {
      const py::array_t<double> contexts(std::vector<py::ssize_t>{block.rows, static_cast<py::ssize_t>(block.features)},
                                         dense.data());
      py::object said;
      if (block.action_kind == ActionKind::continuous)
        said = function_(contexts, py::array_t<double>(block.rows, block.action));
      else
        said = function_(contexts);
      take(block, said, out);
    } catch (py::error_already_set& error) {
      failure_->raise(error, stop_);
    }
  }

  void take(const Block& block, const py::object& said, std::vector<double>& out) const {
    const Numbers numbers(said);
    const std::int64_t width = answer_width(block);
    const bool list = numbers.ndim() == 1 && width == 1 && numbers.shape(0) == block.rows;
    const bool table = numbers.ndim() == 2 && numbers.shape(0) == block.rows && numbers.shape(1) == width;
    if (!list && !table) {
      fail(block, fmt::format("returned numbers of the shape {}, but {} are needed", shape_of(numbers),
                              block.action_kind == ActionKind::continuous
                                  ? fmt::format("{} densities", block.rows)
                                  : fmt::format("({}, {}) probabilities", block.rows, width)));
    }
    out.assign(numbers.data(), numbers.data() + numbers.size());
    const bool probability = block.action_kind != ActionKind::continuous;
    for (const double& value : out) {
      if (value >= 0 && (probability ? value <= 1 + kRounding : std::isfinite(value))) continue;
      const std::int64_t row = (&value - out.data()) / width;
      fail(block, fmt::format("returned {} for row {}, which is no {}", value, block.first_row + row,
                              probability ? "probability" : "density"));
    }
    if (block.action_kind == ActionKind::categorical) require_sums(block, out);
  }

  void require_sums(const Block& block, const std::vector<double>& values) const {
    const auto width = static_cast<std::size_t>(block.num_actions);
    constexpr double kTolerance = 1e-3;  // float32 probabilities of many actions
    for (std::size_t row = 0; row < values.size() / width; ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < width; ++k) sum += values[row * width + k];
      if (std::abs(sum - 1) > kTolerance)
        fail(block, fmt::format("returned probabilities that sum to {} for row {}", sum,
                                block.first_row + static_cast<std::int64_t>(row)));
    }
  }

  static std::string shape_of(const Numbers& numbers) {
    return py::str(py::tuple(numbers.attr("shape"))).cast<std::string>();
  }

  [[noreturn]] void fail(const Block&, const std::string& what) const {
    throw Error(ErrorKind::data, "the function " + what, {.file = name_});
  }

  py::object function_;
  std::string name_;
  StopToken stop_;
  std::shared_ptr<PythonFailure> failure_;
  std::uint64_t number_;
};

}  // namespace

std::shared_ptr<const TargetPolicy> make_callable_policy(const py::object& function, const std::string& name,
                                                         const TaskContext& context) {
  return std::make_shared<CallablePolicy>(function, name, context);
}

}  // namespace scrm::python

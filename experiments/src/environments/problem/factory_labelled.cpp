#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "environments/problem/labelled_transforms.hpp"
#include "environments/problem/problem_factories.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/fnv_hash.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/kernels/scores/fourier_features.hpp"

namespace scrm {
namespace {

/// What the paper does, and the released code: λ by powers of ten, `snips`, searches that begin at θ = 0.
RunOptions published_defaults() {
  RunOptions options;
  options.estimator = &kSnipsEstimator;
  options.past = PastRollouts::naive;
  options.weight_cap = 5e4;
  options.warm_start = false;
  // What the released code asks of its search; a tighter one fits the noise of the weights.
  options.tolerance = 1e-6;
  options.relative_decrease = 1e-6;
  options.lambda_candidates.clear();
  options.lambdas.clear();
  for (int power = -5; power <= 5; ++power) {
    options.lambda_candidates.push_back(std::pow(10.0, power));
    options.lambdas.push_back({LambdaKind::given, options.lambda_candidates.back()});
  }
  return options;
}

RunOptions labelled_defaults(bool multiclass) {
  RunOptions options = published_defaults();
  // The paper pools its batches naively, and with that its SCRM loses to CRM on scene and yeast.
  options.past = PastRollouts::balance;
  if (multiclass) return options;
  // Without a model, SCRM loses to CRM on scene whatever weighs its batches: what contexts cost by themselves is noise
  // to every bit that is flipped, and a learned policy flips few. With one, what its logs can tell is a matter of how
  // often they flip bits, so that a learned policy explores more while it logs than when it is judged. The model's own
  // penalty is chosen by held-out folds, and a second one on top of it has nothing left to do.
  options.estimator = &kDmEstimator;
  options.lambdas = {{LambdaKind::given, 0.0}};
  options.lambda_candidates = {0};
  options.logging_epsilon = 0.5;
  return options;
}

/// Another file under the same name is another environment, and so is one whose first policy is made otherwise.
std::string fingerprint(const LabelledData& data, const LabelledTraits& traits) {
  std::uint64_t hash = kFnvBasis;
  const auto add = [&hash](const auto& values) {
    hash = fnv_hash(values.data(), values.size() * sizeof(values[0]), hash);
  };
  add(data.label);
  add(data.category);
  add(data.context);
  add(data.indptr);
  add(data.indices);
  add(data.values);
  return fmt::format("{} rows, {} features, {} {}, bonus {}, {} length, {:016x}", data.rows, data.features, data.labels,
                     data.multiclass ? "classes" : "labels", traits.bonus, traits.unit_length ? "unit" : "own", hash);
}

Schema logged_schema(const LabelledData& data, const RunOptions& options) {
  Schema schema;
  schema.action_kind = data.multiclass ? ActionKind::categorical : ActionKind::multilabel;
  schema.num_actions = data.labels;
  const bool fourier = options.features == FeatureMap::fourier;
  schema.features =
      (options.projection > 0 ? options.projection : data.features) + (fourier ? options.fourier.width : 0);
  schema.sparse = data.sparse && options.projection == 0 && !fourier;
  schema.propensity = PropensityForm::logarithm;
  const bool explores = options.epsilon > 0 || options.logging_epsilon.value_or(0) > 0;
  schema.label_propensity = !data.multiclass && (options.mixing == Mixing::label || !explores);
  schema.replays = options.replays;
  return schema;
}

ProblemShape labelled_shape(const LabelledData& data, const LabelledTraits& traits, const RunOptions& options) {
  ProblemShape shape;
  shape.schema = logged_schema(data, options);
  // Equal parts, as equal as whole rows allow.
  const std::int64_t train = data.rows - labelled_test_rows(data.rows);
  for (int batch = 0; batch <= options.rollouts + 1; ++batch) {
    shape.rows_before.push_back(train * batch / options.rollouts * options.replays);
  }
  const auto labels = static_cast<std::size_t>(data.labels), features = static_cast<std::size_t>(shape.schema.features);
  const std::size_t entries = data.values.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, data.rows));
  const std::size_t context_bytes = shape.schema.sparse ? entries * 12 + 8 : features * sizeof(double);
  const bool copied = options.projection > 0 || options.unit_length.value_or(traits.unit_length) ||
                      options.standardize.value_or(data.multiclass);
  const bool fourier = options.features == FeatureMap::fourier;
  shape.problem_bytes = static_cast<std::size_t>(data.rows) * context_bytes * ((copied ? 2 : 1) + (fourier ? 1 : 0)) +
                        (fourier ? FourierTransform::bytes(options.fourier.width, shape.schema.features) : 0) +
                        labels * (features + 1) * 3 * sizeof(double);
  // The row itself, and what an evaluation of the objective keeps of it between its two passes.
  const std::size_t kept = (3 + 2 * labels) * sizeof(double);
  shape.row_bytes = context_bytes / static_cast<std::size_t>(options.replays) + 16 + labels * 9 + kept;
  return shape;
}

}  // namespace

ProblemFactory make_labelled_factory(std::shared_ptr<const LabelledData> data, const LabelledTraits& traits) {
  if (data->rows < 3) {
    throw Error(ErrorKind::data,
                fmt::format("{} {} too few to learn from and to test on", count_of(data->rows, "row"),
                            data->rows == 1 ? "is" : "are"),
                {.file = data->name});
  }
  ProblemFactory factory;
  factory.defaults = labelled_defaults(data->multiclass);
  factory.published_defaults = published_defaults();
  factory.action_kind = data->multiclass ? ActionKind::categorical : ActionKind::multilabel;
  factory.knows_right_actions = true;
  factory.fingerprint = fingerprint(*data, traits);
  factory.shape = [data, traits](const RunOptions& options) { return labelled_shape(*data, traits, options); };
  factory.make = [data, traits](std::uint64_t seed, const RunOptions& options) {
    std::shared_ptr<const LabelledData> rows = data;
    if (options.projection > 0) rows = std::make_shared<LabelledData>(projected(*rows, options.projection, seed));
    if (options.standardize.value_or(data->multiclass)) rows = std::make_shared<LabelledData>(standardized(*rows));
    if (options.unit_length.value_or(traits.unit_length)) rows = std::make_shared<LabelledData>(of_unit_length(*rows));
    LabelledContexts contexts{rows, rows};
    if (options.features == FeatureMap::fourier) {
      FourierFeatures map = options.fourier;
      map.seed += seed;
      contexts.mapped = std::make_shared<LabelledData>(with_fourier(*rows, std::move(map)));
    }
    ProblemShape shape = labelled_shape(*data, traits, options);
    if (data->multiclass) return make_multiclass_problem(std::move(contexts), std::move(shape), seed, options);
    return make_multilabel_problem(std::move(contexts), std::move(shape), seed, options,
                                   options.bonus.value_or(traits.bonus));
  };
  return factory;
}

}  // namespace scrm

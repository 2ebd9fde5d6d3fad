// labels: fast
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "report/charts/forest_chart.hpp"
#include "report/charts/histogram_chart.hpp"
#include "report/charts/svg.hpp"
#include "report/charts/xy_chart.hpp"

using namespace scrm;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> tick_texts(ScaleKind kind, double low, double high, int most = 6) {
  Range range(kind);
  range.add(low);
  range.add(high);
  std::vector<std::string> texts;
  const Scale scale({.kind = kind}, range, most);
  for (const Tick& tick : scale.ticks()) texts.push_back(tick.text);
  return texts;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Every number of the coordinates lies within the picture, and none is nan or inf.
void check_inside(const Chart& chart) {
  CAPTURE(chart.body);
  CHECK(chart.body.find("nan") == std::string::npos);
  CHECK(chart.body.find("inf") == std::string::npos);
  const std::regex text("<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\"");
  for (std::sregex_iterator it(chart.body.begin(), chart.body.end(), text), end; it != end; ++it) {
    CHECK(std::stod((*it)[1]) >= 0);
    CHECK(std::stod((*it)[1]) <= kChartWidth);
    CHECK(std::stod((*it)[2]) >= kFontSize * 0.7);
    CHECK(std::stod((*it)[2]) <= chart.height);
  }
}

XyChart two_curves() {
  XyChart chart;
  chart.title = "crm & scrm";
  chart.x = {.label = "rows", .kind = ScaleKind::logarithmic};
  chart.y = {.label = "loss"};
  chart.series = {{"crm", {100, 300, 700}, {-3, -4, -5}, {-3.5, -4.5, -5.5}, {-2.5, -3.5, -4.5}},
                  {"scrm", {100, 300}, {-3, -5.5}}};
  chart.levels = {{"skyline", -5.8}};
  return chart;
}

}  // namespace

TEST_CASE("scale: ticks are round, few, and say no more digits than their step") {
  CHECK(tick_texts(ScaleKind::linear, 0, 10) == std::vector<std::string>{"0", "2", "4", "6", "8", "10"});
  CHECK(tick_texts(ScaleKind::linear, -0.74, -0.41) == std::vector<std::string>{"−0.7", "−0.6", "−0.5", "−0.4"});
  CHECK(tick_texts(ScaleKind::linear, 1e6, 3e6, 3) == std::vector<std::string>{"1,000,000", "2,000,000", "3,000,000"});
  CHECK(tick_texts(ScaleKind::linear, 0, 1e-9, 2) == std::vector<std::string>{"0", "1·10⁻⁹"});
  CHECK(tick_texts(ScaleKind::logarithmic, 100, 102300) == std::vector<std::string>{"100", "1 k", "10 k", "100 k"});
  CHECK(tick_texts(ScaleKind::logarithmic, 1, 9) == std::vector<std::string>{"1", "2", "5", "10"});
}

TEST_CASE("scale: numbers that are all the same, or none at all, still make an axis") {
  for (const ScaleKind kind : {ScaleKind::linear, ScaleKind::logarithmic}) {
    for (const double value : {3.0, 1e-300, 1e300}) CHECK(!tick_texts(kind, value, value).empty());
    const Scale empty({.kind = kind}, Range(kind), 5);
    CHECK(std::isfinite(empty.share(1)));
  }
  CHECK(!tick_texts(ScaleKind::linear, 0, 0).empty());
  const Scale log({.kind = ScaleKind::logarithmic}, Range(ScaleKind::logarithmic), 5);
  CHECK(std::isnan(log.share(-1)));
}

TEST_CASE("scale: a share is 0 at the low end, 1 at the high end, and halves a decade by its root") {
  Range range(ScaleKind::logarithmic);
  const Scale scale({.kind = ScaleKind::logarithmic, .low = 10, .high = 1000}, range, 5);
  CHECK(scale.share(10) == doctest::Approx(0));
  CHECK(scale.share(100) == doctest::Approx(0.5));
  CHECK(scale.share(1000) == doctest::Approx(1));
}

TEST_CASE("svg: names of any kind are escaped, and control characters never reach a file") {
  CHECK(escaped("<a & \"b\">") == "&lt;a &amp; &quot;b&quot;&gt;");
  CHECK(escaped(std::string("x\x1b\xff", 3)) == "x\\x1b\\xff");
  CHECK(svg_number(-0.001) == "0");
  CHECK(svg_number(12.5) == "12.5");
  CHECK(svg_number(100) == "100");
}

TEST_CASE("svg: a text that is too long keeps its beginning and its end, whole characters each") {
  const std::string name = "größer-größer-größer-größer-größer";
  const std::string shown = shortened(name, 120);
  CHECK(text_width(shown) <= 120);
  CHECK(shown.rfind("größ", 0) == 0);
  CHECK(shown.substr(shown.size() - 4) == name.substr(name.size() - 4));
  CHECK(shortened("short", 120) == "short");
}

TEST_CASE("xy chart: has both axis labels, every name, a band where there is one, and the same bytes each time") {
  const Chart chart = draw(two_curves());
  for (const char* word : {">rows<", ">loss<", ">crm<", ">scrm<", ">skyline<"}) CHECK(count(chart.body, word) == 1);
  CHECK(count(chart.body, "fill-opacity=\".16\"") == 1);
  check_inside(chart);
  CHECK(svg_file(chart) == svg_file(draw(two_curves())));
  CHECK(svg_file(chart).find("crm &amp; scrm</title>") != std::string::npos);
  CHECK(svg_inline(chart).find("<style") == std::string::npos);
}

TEST_CASE("xy chart: a point is where its numbers say") {
  XyChart chart;
  chart.x = {.label = "x", .low = 0, .high = 10};
  chart.y = {.label = "y", .low = 0, .high = 1};
  chart.series = {{"", {0, 10}, {0, 1}, {}, {}, SeriesForm::line}};
  const std::string body = draw(chart).body;
  std::smatch found;
  REQUIRE(std::regex_search(body, found, std::regex("d=\"M([0-9.]+) ([0-9.]+) L([0-9.]+) ([0-9.]+)\"")));
  std::smatch box;
  REQUIRE(std::regex_search(body, box, std::regex("viewBox=\"([0-9.]+) ([0-9.]+) ([0-9.]+) ([0-9.]+)\"")));
  CHECK(std::stod(found[1]) == doctest::Approx(std::stod(box[1])));
  CHECK(std::stod(found[4]) == doctest::Approx(std::stod(box[2])));
  CHECK(std::stod(found[3]) == doctest::Approx(std::stod(box[1]) + std::stod(box[3])).epsilon(1e-4));
  CHECK(std::stod(found[2]) == doctest::Approx(std::stod(box[2]) + std::stod(box[4])).epsilon(1e-4));
}

TEST_CASE("xy chart: numbers that cannot be shown break a line and leave the rest as it is") {
  XyChart chart = two_curves();
  chart.series[0].y[1] = kNaN;
  chart.series[1].x[0] = 0;  // on a logarithmic axis
  chart.series.push_back({"empty", {}, {}});
  chart.levels.push_back({"unknown", kNaN});
  const Chart drawn = draw(chart);
  check_inside(drawn);
  CHECK(drawn.body.find(">unknown<") == std::string::npos);
  check_inside(draw(XyChart{.title = "nothing", .x = {.label = "x"}, .y = {.label = "y"}, .series = {}}));
}

TEST_CASE("xy chart: names of close ends do not touch, and forty names or long ones stand below") {
  XyChart chart = two_curves();
  for (int i = 0; i < 5; ++i) chart.levels.push_back({"level " + std::to_string(i), -5.8 + 1e-4 * i});
  const std::string body = draw(chart).body;
  std::vector<double> heights;
  const std::regex label("y=\"([0-9.]+)\">(level \\d|skyline|crm|scrm)<");
  for (std::sregex_iterator it(body.begin(), body.end(), label), end; it != end; ++it)
    heights.push_back(std::stod((*it)[1]));
  REQUIRE(heights.size() == 8);
  std::sort(heights.begin(), heights.end());
  for (std::size_t i = 1; i < heights.size(); ++i) CHECK(heights[i] - heights[i - 1] >= kFontSize);

  const double usual = draw(two_curves()).height;
  XyChart many = two_curves();
  for (int i = 0; i < 40; ++i) many.series.push_back({"method " + std::to_string(i), {100, 700}, {-1.0 * i, -2.0 * i}});
  check_inside(draw(many));
  CHECK(draw(many).height > usual + 150);
  XyChart longer = two_curves();
  longer.series[0].name = std::string(60, 'm');
  check_inside(draw(longer));
  CHECK(draw(longer).height > usual);
}

TEST_CASE("forest chart: an interval many times as wide as the others is cut with an arrow and does not squash them") {
  ForestChart chart{.title = "values", .label = "mean loss", .rows = {}, .reference = ForestReference{"logged", 1.0}};
  for (int i = 0; i < 4; ++i) chart.rows.push_back({"policy", "e" + std::to_string(i), 1.0, 0.9, 1.1, "1.0"});
  CHECK(count(draw(chart).body, "l7 -4") + count(draw(chart).body, "l-7 -4") == 0);
  chart.rows.push_back({"policy", "wild", 50.0, -1e6, 1e6, "50"});
  chart.rows.push_back({"<other> & " + std::string(80, 'x'), "open", 1.0, std::nullopt, 1.05, "at most 1.05"});
  chart.rows.push_back({"nothing", "none", std::nullopt, std::nullopt, std::nullopt, "-"});
  const Chart drawn = draw(chart);
  check_inside(drawn);
  CHECK(count(drawn.body, "l7 -4") == 2);   // to the left: wild, and the open end
  CHECK(count(drawn.body, "l-7 -4") == 1);  // to the right: wild
  CHECK(drawn.body.find("−0.9") == std::string::npos);
  CHECK(drawn.body.find("&lt;other&gt; &amp; x") != std::string::npos);
}

TEST_CASE("forest chart: numbers are never cut, however many digits they have") {
  const std::string numbers = "−0.0055123 [−12,345.6789, 0.0027123]";
  ForestChart chart{.title = "values", .label = "mean loss", .rows = {}, .reference = {}};
  chart.rows.push_back({"policy", std::string(60, 'n'), 1.0, 0.9, 1.1, numbers});
  const Chart drawn = draw(chart);
  check_inside(drawn);
  CHECK(drawn.body.find(numbers) != std::string::npos);
}

TEST_CASE("histogram chart: bars are as high as their share") {
  const HistogramChart chart{.title = "weights",
                             .x = {.label = "weight", .kind = ScaleKind::logarithmic},
                             .bins = {{0.5, 1, 30}, {1, 2, 60}, {2, 4, 10}, {0, 0.5, 0}},
                             .marks = {{"mean", 1.0}}};
  const std::string body = draw(chart).body;
  const std::regex bar("<rect [^>]*height=\"([0-9.]+)\"");
  std::vector<double> heights;
  for (std::sregex_iterator it(body.begin(), body.end(), bar), end; it != end; ++it)
    heights.push_back(std::stod((*it)[1]));
  REQUIRE(heights.size() == 3);
  CHECK(heights[0] == doctest::Approx(3 * heights[2]).epsilon(0.01));
  CHECK(heights[1] == doctest::Approx(6 * heights[2]).epsilon(0.01));
  check_inside(draw(chart));
  check_inside(draw(HistogramChart{.title = "none", .x = {.label = "weight"}, .bins = {}}));
}

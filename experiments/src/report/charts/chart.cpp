#include "report/charts/chart.hpp"

#include <fmt/format.h>

#include "report/charts/svg.hpp"

namespace scrm {
namespace {

// The palette of Okabe and Ito, which people see apart whatever kind of colour vision they have; on black, its lighter
// half and tints of the others.
constexpr std::string_view kStyle =
    ".scrm-chart{--ink:#1f2328;--quiet:#59636e;--rule:#d8dee4;--paper:#ffffff;"
    "--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#b0508c;--s4:#b37400;--s5:#3f8fc4;fill:var(--ink)}\n"
    "@media screen and (prefers-color-scheme:dark){.scrm-chart{--ink:#e6edf3;--quiet:#9aa7b4;--rule:#363d46;"
    "--paper:#14181d;--s0:#56b4e9;--s1:#ff8a4c;--s2:#2fc79a;--s3:#e79bc8;--s4:#f0c24b;--s5:#a9cdf7}}\n"
    ".scrm-chart .paper{fill:var(--paper)}.scrm-chart .quiet{fill:var(--quiet)}.scrm-chart .rule{stroke:var(--rule)}"
    ".scrm-chart .axis{stroke:var(--quiet)}.scrm-chart .halo{stroke:var(--paper)}\n"
    ".scrm-chart .s0{stroke:var(--s0);fill:var(--s0)}.scrm-chart .s1{stroke:var(--s1);fill:var(--s1)}"
    ".scrm-chart .s2{stroke:var(--s2);fill:var(--s2)}.scrm-chart .s3{stroke:var(--s3);fill:var(--s3)}"
    ".scrm-chart .s4{stroke:var(--s4);fill:var(--s4)}.scrm-chart .s5{stroke:var(--s5);fill:var(--s5)}\n";

std::string document(const Chart& chart, std::string_view attributes, std::string_view style) {
  return fmt::format(
      "<svg {}class=\"scrm-chart\" viewBox=\"0 0 {} {}\" role=\"img\" font-family=\"system-ui, 'Helvetica Neue', "
      "Arial, 'DejaVu Sans', sans-serif\" font-size=\"{}\" fill=\"#1f2328\">\n<title>{}</title>\n{}{}</svg>\n",
      attributes, svg_number(kChartWidth), svg_number(chart.height), svg_number(kFontSize), escaped(chart.title), style,
      chart.body);
}

}  // namespace

std::string chart_style() {
  return std::string(kStyle);
}

std::string svg_file(const Chart& chart) {
  const std::string attributes = fmt::format("xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" ",
                                             svg_number(1.5 * kChartWidth), svg_number(1.5 * chart.height));
  const std::string style = fmt::format(
      "<style>{}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", kStyle);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + document(chart, attributes, style);
}

std::string svg_inline(const Chart& chart) {
  return document(chart, "", "");
}

}  // namespace scrm

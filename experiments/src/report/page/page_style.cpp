#include "report/page/page_style.hpp"

namespace scrm {

std::string_view page_style() noexcept {
  return R"(:root{--text:#1f2328;--soft:#59636e;--line:#d8dee4;--page:#ffffff;--tint:#f5f7f9;--link:#0a5fa3;--warn:#8a4600;--warn-tint:#fff4e5}
@media screen and (prefers-color-scheme:dark){:root{--text:#e6edf3;--soft:#9aa7b4;--line:#363d46;--page:#14181d;--tint:#1b2128;--link:#6cb6ff;--warn:#ffc078;--warn-tint:#33260f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:72rem;background:var(--page);color:var(--text);font:16px/1.5 system-ui,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.8rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2.5rem 0 .75rem;padding-top:.5rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0 0 .25rem}
p{max-width:46rem;margin:.5rem 0}
a{color:var(--link)}
nav{background:var(--tint);border-radius:.5rem;padding:.75rem 1rem;margin:1.25rem 0}
nav h2{font-size:1rem;margin:0;padding:0;border:0}
nav ol{margin:.25rem 0 0;padding-left:1.5rem;columns:16rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1.5rem 2rem;margin:1rem 0;align-items:start}
figure{margin:0;max-width:40rem;min-width:0}
figure svg{display:block;width:100%;height:auto}
figcaption,.note,.caption,footer{color:var(--soft);font-size:.9rem}
figcaption{margin-top:.35rem}
.table{overflow-x:auto;margin:0 0 1rem;max-width:100%}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
.caption{margin:1rem 0 .25rem}
th,td{padding:.3rem .9rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);min-width:3.5rem;max-width:26rem}
td,thead th{overflow-wrap:normal}
td.number{white-space:nowrap}
tbody th{font-weight:500;min-width:8rem}
.number{text-align:right}
.warnings{background:var(--warn-tint);color:var(--warn);border-radius:.5rem;padding:.75rem 1rem .75rem 2rem;margin:1rem 0}
.warnings li+li{margin-top:.35rem}
pre{background:var(--tint);border-radius:.5rem;padding:.75rem 1rem;font-size:.85rem;white-space:pre-wrap}
footer{margin-top:3rem;border-top:1px solid var(--line)}
@media (max-width:36rem){body{padding:1rem .75rem 2rem}h1{font-size:1.5rem}table{font-size:.8rem}th,td{padding-right:.5rem;min-width:2.5rem}td.number{white-space:normal}tbody th{min-width:5.5rem}}
@media print{body{max-width:none;padding:0;font-size:10.5pt}nav{background:none;padding:0}.figures{grid-template-columns:1fr 1fr}figure,tr{break-inside:avoid}h2,h3,.caption{break-after:avoid}.table{overflow:visible}}
)";
}

}  // namespace scrm

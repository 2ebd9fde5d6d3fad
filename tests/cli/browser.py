"""Pages in a real browser: how they look, and whether anything overlaps or is cut off."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

# Measures every picture and the page itself, and sends what is wrong to the page around it.
MEASURE = """
<script>
addEventListener("load", () => {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth + 1) wrong.push(`the page is ${root.scrollWidth} wide in ${innerWidth}`);
  const svgs = [...document.querySelectorAll("svg.scrm-chart")];
  for (const svg of svgs) {
    const name = svg.querySelector("title").textContent;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, box] of texts) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        wrong.push(`${name}: "${text}" is cut off`);
    }
    for (let i = 0; i < texts.length; ++i) for (let j = 0; j < i; ++j) {
      const [a, b] = [texts[i][1], texts[j][1]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes of lines have room above and below the letters.
      if (wide > 1 && high > 0.35 * Math.min(a.height, b.height))
        wrong.push(`${name}: "${texts[i][0]}" and "${texts[j][0]}" overlap`);
    }
  }
  for (const part of document.querySelectorAll("p, li, h1, h2, h3, pre, figcaption, .table")) {
    const box = part.getBoundingClientRect();
    if (box.right > innerWidth + 1 || box.left < -1) wrong.push(`<${part.tagName}> "${part.textContent.slice(0, 40)}" is cut off`);
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const paper = getComputedStyle(document.body).backgroundColor;
  parent.postMessage({wrong, dark, paper, width: innerWidth, charts: svgs.length}, "*");
});
</script>
"""

AROUND = """<!DOCTYPE html><body style="margin:0"><iframe src="{src}" style="border:0;width:{width}px;height:{height}px"></iframe>
<script>addEventListener("message", event => {{ document.body.setAttribute("data-found", JSON.stringify(event.data)) }})</script>
"""


def need_browser():
    """The name of Chromium; skips the test where it is not installed."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    raise unittest.SkipTest("there is no Chromium: pages were not looked at")


def chromium(*args):
    with tempfile.TemporaryDirectory(prefix="scrm-browser-") as profile:
        return subprocess.run([need_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                               "--hide-scrollbars", f"--user-data-dir={profile}", "--virtual-time-budget=3000", *args],
                              capture_output=True, text=True, timeout=300).stdout


def look(page, width, dark, screenshot=None, height=2400):
    """What is wrong with a page at this width, {"wrong", "dark", "paper", "width", "charts"}. A window cannot be narrower
    than 500 pixels, a frame in it can."""
    page = pathlib.Path(page)
    with tempfile.TemporaryDirectory(prefix="scrm-page-") as folder:
        folder = pathlib.Path(folder)
        measured = page.read_text().replace("</body>", MEASURE + "</body>")
        (folder / "page.html").write_text(measured)
        around = folder / "around.html"
        around.write_text(AROUND.format(src="page.html", width=width, height=height))
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        window = f"--window-size={max(width, 500)},{height}"
        if screenshot:
            chromium(scheme, window, f"--screenshot={screenshot}", around.as_uri())
        dom = chromium(scheme, window, "--dump-dom", around.as_uri())
    found = re.search(r'data-found="([^"]*)"', dom)
    if not found:
        raise AssertionError(f"the browser did not answer: {dom[:2000]}")
    return json.loads(html.unescape(found[1]))

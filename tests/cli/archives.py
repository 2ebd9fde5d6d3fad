"""Made-up archives of sweeps for tests of what reads them, and what a browser makes of a page."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree

import h5py
import numpy as np

ABSENT = struct.unpack("<d", struct.pack("<Q", 0x7FF8616273656E74))[0]


def made_up_run(environment="pricing", method="scrm", seed=0, loss=(-3.0, -4.0, -5.0), rows=None, rule="given", lam=0.01,
                failed=None, ess=None, mean_weight=None, seconds=0.5):
    rows = [100 * (2**(m + 1) - 1) for m in range(len(loss))] if rows is None else rows
    return dict(environment=environment, method=method, seed=seed, loss=list(loss), rows=list(rows), lambda_rule=rule,
                hyperparameter=lam if rule == "given" else np.nan, message=failed or "",
                status="failed" if failed else "ok", ess=ess, mean_weight=mean_weight,
                seconds=seconds)


def write_archive(path, runs, **attributes):
    """An archive as `scrm sweep` writes it, with runs as made_up_run() makes them."""
    text = h5py.string_dtype()
    width = max([len(run["loss"]) for run in runs] + [0])

    def curves(values, fill, kind):
        table = np.full((len(runs), width), fill, dtype=kind)
        for i, row in enumerate(values):
            if row is not None:
                table[i, :len(row)] = row
        return table

    with h5py.File(path, "w") as file:
        file.attrs.update(format="scrm-results", format_version=1, sweep="seeds = 2\n", version="0.1.0", **attributes)
        group = file.create_group("runs")
        group.attrs.create("extra_numbers", [], dtype=text)
        group.attrs.create("extra_curves", ["ess", "mean_weight"], dtype=text)
        for name in ("environment", "method", "lambda_rule", "status", "message"):
            group.create_dataset(name, data=[run[name] for run in runs], dtype=text)
        group.create_dataset("identity", data=[f"{i:x}" for i in range(len(runs))], dtype=text)
        for name in ("hyperparameter", "seconds"):
            group[name] = np.array([run[name] for run in runs], dtype=float)
        group["final_loss"] = np.array([run["loss"][-1] if run["loss"] else np.nan for run in runs], dtype=float)
        group["seed"] = np.array([run["seed"] for run in runs], dtype=np.int64)
        group["rollouts"] = np.array([len(run["loss"]) for run in runs], dtype=np.int64)
        group["loss"] = curves([run["loss"] for run in runs], ABSENT, float)
        group["regret"] = curves([None for run in runs], ABSENT, float)
        group["rows"] = curves([run["rows"] for run in runs], 0, np.int64)
        for name in ("ess", "mean_weight"):
            group[name] = curves([run[name] for run in runs], ABSENT, float)
        theta = group.create_dataset("theta", (len(runs),), dtype=h5py.vlen_dtype(np.float64))
        for i in range(len(runs)):
            theta[i] = np.array([1.0, 2.0])
    return path


SCRIPT = re.compile(r"<script[^>]*>.*?</script>", re.S)


def check_page(test, folder):
    """What holds for every page: well-formed pictures, nothing from outside, an entry of contents for each section, and
    data that reads back. Returns the page's text and its data."""
    page = (pathlib.Path(folder) / "index.html").read_text()
    test.assertNotRegex(SCRIPT.sub("", page), r"(?i)(src|href)\s*=\s*[\"'](?!#)|url\(|@import|https?://")
    test.assertEqual(re.findall(r"<script ([^>]*)>", page), ['type="application/json" id="data"'])
    for anchor in re.findall(r'href="#([^"]*)"', page):
        test.assertEqual(page.count(f'id="{anchor}"'), 1)
    figures = sorted((pathlib.Path(folder) / "figures").glob("*.svg")) if (pathlib.Path(folder) / "figures").exists() else []
    for figure in figures:
        xml.etree.ElementTree.parse(figure)
        if shutil.which("xmllint"):
            subprocess.run(["xmllint", "--noout", str(figure)], check=True)
    test.assertEqual(len(figures), page.count("<figure "))
    # The page is HTML that is XML too, but for elements that HTML leaves open.
    closed = re.sub(r"<(meta [^>]*)>", r"<\1/>", page.replace("<!DOCTYPE html>\n", ""))
    xml.etree.ElementTree.fromstring(SCRIPT.sub("", closed))
    return page, json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])

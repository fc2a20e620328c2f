"""Reports: what is in the file, and that a browser shows it without an error."""

import base64
import re
import shutil
import subprocess
import zlib
from dataclasses import replace

import numpy as np
import pytest

from kermes import Measures, divergences, pairwise
from kermes.comparison import Candidate, Report, Row
from kermes.comparison._report._charts import RAMP, data_uri, heat

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    y = np.repeat(["a<b", "two"], 15)
    X = Measures.from_samples([rng.normal(3 * (label == "two"), 1, size=(12, 2)) for label in y])
    D = pairwise(X, divergence=divergences.SlicedWasserstein(n_slices=10))
    predicted = y.copy()
    predicted[3] = "two"
    entries = [
        Row(Candidate("sliced", learner="dummy"), "ok", (0.95, 0.99), 0.1, 0.2, "positive definite"),
        Row(Candidate("broken", learner="dummy"), "failed", message="it <failed> & said so"),
    ]
    return Report(X, y, predicted, D, "sliced W_2", entries, "classification", "accuracy", "SVC()", "import kermes",
                  "kermes compare", np.exp(-(D**2)), {"pairs": "435"})  # fmt: skip


def test_the_page_fetches_nothing_and_escapes_names(report):
    html = report.html()
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)
    assert "url(" not in html
    assert "@import" not in html
    assert "it &lt;failed&gt; &amp; said so" in html
    assert "a<b" not in html
    assert "a&lt;b" in html


def test_every_section_is_linked_and_there(report):
    html = report.html()
    links = re.findall(r'<a href="#([^"]+)"', html)
    assert links == re.findall(r'<section id="([^"]+)"', html)
    assert {"leaderboard", "predictions", "map-of-the-samples", "distances", "definiteness"} <= set(links)
    assert "definiteness" not in re.findall(r'<section id="([^"]+)"', replace(report, gram=None).html())


def test_confusion_counts(report):
    table = re.search(r'<table class="confusion">(.*?)</table>', report.html())[1]
    counts = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", table)]
    assert counts == ["14", "1", "", "15"]
    assert "96.7% right" in report.html()


def test_regression_page(report):
    y = np.linspace(0, 1, 30)
    page = replace(report, y=y, predicted=y + 0.1, task="regression", score="R²")
    assert "Root mean squared error 0.1;" in page.html()
    assert "confusion" not in page.html().split("</style>")[1]


def test_a_large_collection_is_thinned_and_reported(report):
    html = replace(report, most_samples=10).html()
    assert "10 of 30 samples are drawn" in html
    assert html.count('<g class="sample') == 10


def test_wrong_predictions_come_first_in_the_gallery(report):
    rows = re.findall(r'<div class="row">.*?<figcaption>(.*?)<br>', report.html())
    assert rows[0] == "3: a&lt;b, taken for two"
    assert len(rows) == 8


def test_saving_replaces_whole_files(report, tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    assert report.save(path) == path
    assert path.read_text().startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]


def test_pictures_are_png_of_the_right_pixels():
    rgb = heat(np.array([[0.0, 1.0], [0.5, 0.25]]))
    assert (rgb[0] == RAMP[[0, -1]]).all()
    png = base64.b64decode(data_uri(rgb).removeprefix("data:image/png;base64,"))
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    length = int.from_bytes(png[33:37], "big")
    assert png[37:41] == b"IDAT"
    rows = np.frombuffer(zlib.decompress(png[41 : 41 + length]), np.uint8).reshape(2, 7)
    assert (rows[:, 1:].reshape(2, 2, 3) == rgb).all()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_shows_it_and_hovering_works(report, tmp_path):
    """The probe hovers over a dot and a cell, and notes what appears, and every error, in attributes of the body."""
    probe = """<script>
    const tell = (name, value) => document.body.setAttribute(name, value);
    const hover = (selector, x, y) => {
      const thing = document.querySelector(selector), box = thing.getBoundingClientRect();
      thing.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + y}));
      return document.getElementById("tip");
    };
    const dot = hover("g.sample", 2, 2);
    tell("data-dot", dot.style.display + " " + dot.querySelectorAll("svg").length + " " + dot.textContent);
    tell("data-cell", hover("img.heat", 3, 3).textContent);
    </script>"""
    html = report.html()
    guard = '<script>window.onerror = m => document.documentElement.setAttribute("data-error", m)</script>'
    path = tmp_path / "probe.html"
    path.write_text(html.replace("<head>", "<head>" + guard).replace("</body>", probe + "</body>"))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "data-error" not in done.stdout.split("<head>")[0]
    assert "CONSOLE" not in done.stderr
    assert re.search(r'data-dot="block 1 0: a&lt;b"', done.stdout)
    assert re.search(r'data-cell="[^"]+ and [^"]+: about 0', done.stdout)

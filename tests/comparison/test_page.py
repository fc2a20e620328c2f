"""Reports: what is in the file, and that a browser shows it without an error."""

import base64
import re
import shutil
import subprocess
import zlib
from dataclasses import replace

import numpy as np
import pytest

from kermes import Measures, datasets, divergences, inference, pairwise
from kermes.comparison import Candidate, Report, Row
from kermes.comparison._report import _sections
from kermes.comparison._report._charts import CHARACTER, RAMP, data_uri, heat, regression_chart
from kermes.plot._display import CLASS_PALETTE

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
    assert html.count("<details open><summary><h2>") == len(links)  # they fold, and are open at first


def test_no_class_vanishes_on_dark_paper(report):
    """Colours of the legend that are nearly as dark as the paper have brighter ones there."""
    dark = re.search(r"prefers-color-scheme: dark\) \{(.*?)\n\}", report.html(), flags=re.DOTALL)[1]
    brighter = {int(c) for c in re.findall(r"--class-(\d+):", dark)}
    for c, colour in enumerate(CLASS_PALETTE):
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        assert (0.21 * red + 0.72 * green + 0.07 * blue > 0.35) or c in brighter, colour


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


def test_typical_members_and_neighbours_are_those_of_all_samples(report):
    """They were the nearest of the samples that are drawn."""
    html = replace(report, most_samples=5).html()
    for label in ("a<b", "two"):
        own = np.flatnonzero(report.y == label)
        medoid = own[report.distances[np.ix_(own, own)].sum(axis=1).argmin()]
        assert f"<figcaption>{report._caption(medoid).replace('<', '&lt;')}</figcaption>" in html
    for row in re.findall(r'<div class="row">(.*?)</div>', html):
        i, *near = map(int, re.findall(r"<figcaption>(\d+): ", row))
        shown = re.findall(r"<br>([\d.]+)</figcaption>", row)
        order = [j for j in np.argsort(report.distances[i], kind="stable") if j != i][: len(near)]
        assert near == order
        assert shown == [f"{report.distances[i, j]:.3g}" for j in order]


def test_wrong_predictions_come_first_in_the_gallery(report):
    rows = re.findall(r'<div class="row">.*?<figcaption>(.*?)<br>', report.html())
    assert rows[0] == "3: a&lt;b, taken for two"
    assert len(rows) == 8


def test_the_largest_errors_come_first_in_the_gallery(report):
    """They came in the order of the file."""
    y = np.linspace(0.0, 1.0, 30)
    errors = np.random.default_rng(0).permutation(30)
    page = replace(report, y=y, predicted=y + errors, task="regression", score="R²").html()
    rows = [int(i) for i in re.findall(r'<div class="row">.*?<figcaption>(\d+): ', page)]
    assert rows[:3] == list(np.argsort(-errors)[:3])


@pytest.mark.parametrize(
    ("centre", "spread"), [(1234567.0, 1.0), (0.0, 4938.0), (-1e5, 1.0), (0.0, 3e-5), (300.0, 50.0)]
)
def test_numbers_of_an_axis_have_room(centre, spread):
    """Their first digits lay outside the picture."""
    y = centre + spread * np.linspace(-1.0, 1.0, 9)
    labels = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">(.*?)</text>', regression_chart(y, y))
    assert len(labels) == 3
    assert all(float(x) >= CHARACTER * len(label) for x, label in labels)


def test_more_classes_than_colours_have_numbers(report):
    """Two names of the legend stood beside one colour."""
    y = np.array([f"type-{i % 12:02}" for i in range(30)])
    html = replace(report, y=y, predicted=y).html()
    legend = re.search(r'<div class="legend">(.*?)</div>', html)[1]
    assert re.findall(r"</b>(.*?)</span>", legend) == [f"{i + 1}: type-{i:02}" for i in range(12)]
    marks = re.findall(r'data-text="\d+: type-(\d+)">.*?<text[^>]*>(\d+)</text>', html)
    assert len(marks) == 30
    assert all(int(name) + 1 == int(mark) for name, mark in marks)


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


def section(html, anchor):
    """Return the text of a section without tags, or None."""
    found = re.search(rf'<section id="{anchor}">(.*?)</section>', html, flags=re.DOTALL)
    return found and " ".join(re.sub(r"<[^>]+>", " ", found[1]).split())


def test_the_tests_of_classes_are_those_of_inference_and_warn(report):
    text = section(report.html(), "do-the-classes-differ")
    found = inference.permanova(report.distances, report.y, "precomputed", n_permutations=999, random_state=0)
    assert f"{found.statistic:.3g} {found.effect_size:.3f} {found.p_value:.3g}" in text
    assert "p-values are optimistic" in text


def test_groups_of_the_validation_restrict_the_permutations(report):
    nested = replace(report, groups=np.repeat(np.arange(10), 3)).html()
    crossed = replace(report, groups=np.tile(np.arange(15), 2)).html()
    assert "one centroid for each of them is permuted" in section(nested, "do-the-classes-differ")
    assert section(nested, "where-they-differ") is None
    assert "permuted within the groups" in section(crossed, "do-the-classes-differ")
    assert section(crossed, "where-they-differ") is not None


def test_medoids_are_the_typical_members(report):
    text = section(report.html(), "typical-members")
    for label in ("a<b", "two"):
        rows = np.flatnonzero(report.y == label)
        medoid = rows[report.distances[np.ix_(rows, rows)].sum(axis=1).argmin()]
        assert f"{medoid}: {label}".replace("<", "&lt;") in text


def test_images_have_means_and_a_map_of_pixels(report):
    digits = datasets.load_digits()[:60]
    X, y = digits.measures(), digits.target % 3
    D = pairwise(X, divergence=divergences.SlicedWasserstein(n_slices=5))
    predicted = y.copy()
    predicted[np.flatnonzero(y == 2)[:2]] = 1
    html = replace(report, X=X, y=y, predicted=predicted, distances=D, gram=None).html()
    assert "2 minus 1 (of all pairs" in section(html, "where-they-differ")
    assert re.search(r'aria-label="Where the groups differ"(?:.*?<rect){65}', html)
    assert all(f"mean of {c}" in section(html, "typical-members") for c in range(3))


@pytest.mark.parametrize(("dim", "mark"), [(1, "<polygon"), (2, "<circle"), (3, "coordinate 0")])
def test_differences_of_clouds(report, dim, mark):
    rng = np.random.default_rng(1)
    X = Measures.from_samples([rng.normal(label == "two", 1, size=(6, dim)) for label in report.y])
    html = replace(report, X=X).html()
    chart = re.search(r'aria-label="Where the groups differ">(.*?)</svg>', html)[1]
    assert mark in chart
    assert 'class="minus"' in chart
    assert "nan" not in chart
    means = section(html, "typical-members").count("mean of ")
    assert means == (2 if dim < 3 else 0)  # which can be drawn


@pytest.mark.parametrize(
    ("dim", "shown"),
    [
        (1, "Across: a&lt;b. Orange"),
        (2, "Across: a&lt;b, upwards: CD19. Orange"),
        (3, "long name of… long name of a marker"),
    ],
)
def test_differences_name_the_coordinates(report, dim, shown):
    rng = np.random.default_rng(1)
    X = Measures.from_samples([rng.normal(label == "two", 1, size=(6, dim)) for label in report.y])
    names = ["a<b", "CD19", "long name of a marker"][:dim]
    where = section(replace(report, X=X, columns=names).html(), "where-they-differ")
    assert shown in where
    assert "coordinate 0" not in where


def test_sections_that_fail_or_do_not_suit_are_left_out(report, monkeypatch):
    y = np.array(["alone", *report.y[1:]])
    html = replace(report, y=y, predicted=y).html()
    assert section(html, "do-the-classes-differ") is None
    many = np.arange(30) // 2
    assert section(replace(report, y=many, predicted=many).html(), "typical-members") is None

    def broken(*args, **options):
        raise RuntimeError("no")

    for name in ("permanova", "difference", "thumbnails"):
        monkeypatch.setattr(_sections, name, broken)
    titles = re.findall(r'<section id="([^"]+)"', report.html())
    assert titles[:4] == ["leaderboard", "model", "predictions", "map-of-the-samples"]


def test_large_images_have_no_means():
    X = Measures.from_images(np.ones((4, 200, 200)))
    assert _sections._barycentres(X, [np.arange(2), np.arange(2, 4)]) is None


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

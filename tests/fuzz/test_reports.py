"""Reports, tables in notebooks and thumbnails: strings from data are text, whatever they hold."""

import os
import random
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from kermes import Measures, clustering, divergences, pairwise
from kermes.comparison import Candidate, Report, Row

PIECES = [
    *("<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", "</td></tr></table>", "-->", "]]>"),
    *('" onmouseover="alert(1)', "' onload='alert(1)", "&lt;b&gt;", "&#60;b&#62;", "&", "<", ">", '"', "'", "`", "\\"),
    *(
        "\x00",
        "\x1b[2J",
        "\x9b",
        "\u202e",
        "\ud800",
        "\udcff",
        "\u2028",
        "é",
        "😀",
        "\n",
        "\r",
        "\t",
        " ",
        "a",
        "{{7*7}}",
    ),
    *("javascript:alert(1)", "</title><b>", "</style><b>", "<svg/onload=alert(1)>", "<!--", "\\u003cb\\u003e", ""),
]
ROUNDS = 40 * (1 + int(float(os.environ.get("KERMES_FUZZ_SECONDS", 0))))


class Tags(HTMLParser):
    """The tags and the names of their attributes, in order."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        self.found.append((f"/{tag}",))

    def handle_comment(self, data):
        self.found.append(("comment",))


def strings(rng, n):
    """Return n distinct strings that sort as they stand."""
    drawn = [f"{k}{''.join(rng.choices(PIECES, k=rng.randrange(4)))}" for k in range(n)]
    return [text.rstrip("\0") for text in drawn]  # names that end so are refused


def report(label, key, names):
    """A report in which every string comes from data or from a user."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.array(label), 4)
    keys = pd.Series(np.repeat(np.array(key, dtype=object), 3), dtype=object)
    frame = pd.DataFrame({"g": keys, "x": rng.normal(size=24), "y": rng.normal(size=24)})
    X = Measures.from_frame(frame, "g", ["x", "y"])
    D = pairwise(X, divergence=divergences.Wasserstein())
    predicted = y.copy()
    predicted[3] = label[1]
    entries = [
        Row(Candidate(names[0], learner="dummy"), "ok", (0.95, 0.99), 0.1, 0.2, "positive definite"),
        Row(Candidate(names[1], learner="dummy"), "failed", message=names[2]),
    ]
    facts = {names[3]: names[4]}
    return Report(X, y, predicted, D, names[5], entries, "classification", "accuracy", names[6], names[7], names[8],
                  np.exp(-(D**2)), facts, names[9]), X, y  # fmt: skip


def pages(label, key, names, path):
    """Return every page that is made of them."""
    made, X, y = report(label, key, names)
    made.save(path)  # it must be possible to write it
    clusters = clustering.cluster_report(np.arange(8) % 2, y)
    return made.html(), X._repr_html_(), clusters._repr_html_()


@pytest.mark.parametrize("number", range(0, ROUNDS, 10))
def test_no_string_becomes_a_tag(number, tmp_path):
    plain = [Tags(page).found for page in pages(["0", "1"], list("01234567"), list("abcdefghij"), tmp_path / "r")]
    for seed in range(number, number + 10):
        rng = random.Random(f"report {seed}")
        hostile = pages(strings(rng, 2), strings(rng, 8), strings(rng, 10), tmp_path / "r")
        for expected, page in zip(plain, hostile, strict=True):
            assert Tags(page).found == expected, seed

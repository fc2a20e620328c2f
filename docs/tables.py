"""Write the tables of pages from recorded results, so that a page cannot say more than was run.

The documentation build calls it. It reads, and writes into ``papers/tables``:

- ``papers/results/KEY-SIZE``, what ``kermes reproduce KEY --SIZE`` wrote, without its pictures: ``KEY-SIZE.md``,
  ``KEY-SIZE-PART.md`` for each of its parts, and ``KEY-SIZE-PART-N.md`` for each of their tables
- ``benchmarks/results/DATE.json`` of ``python -m benchmarks --record``: ``benchmarks.md``, the newest of each row
- ``benchmarks/real.json`` of ``python -m benchmarks.real --record``: ``real.md``
- the fragments in ``changelog.d``: ``unreleased.md``
- what divergences claim, from their code: ``claims.md``
"""

import json
from importlib import import_module
from pathlib import Path

from kermes.divergences import claims_markdown

HERE = Path(__file__).parent
TABLES = HERE / "papers" / "tables"
RESULTS = HERE / "papers" / "results"
BENCHMARKS = HERE.parent / "benchmarks" / "results"


def write_tables():
    """Write a file of Markdown tables for each folder of results, and one for the benchmarks."""
    TABLES.mkdir(exist_ok=True)
    for folder in sorted(path for path in RESULTS.iterdir() if path.is_dir()):
        key, size = folder.name.split("-")
        paper = import_module(f"kermes.papers.{key}.run").PAPER
        summary = json.loads((folder / "summary.json").read_text())
        parts = {f"-{name}": {name: found} for name, found in summary.items()}
        for suffix, results in {"": summary, **parts}.items():
            texts = [
                _markdown(table.header, table.rows, table.title) + "\n"
                for table in paper.tables(size, results)
            ]
            (TABLES / f"{folder.name}{suffix}.md").write_text("\n".join(texts))
            for number, text in enumerate(texts if suffix else [], start=1):
                (TABLES / f"{folder.name}{suffix}-{number}.md").write_text(text)
    header = ["work", "against", "kermes", "the other", "figure", "asked", "measured"]
    rows = [
        [
            f"{row['work']} (`{name}`)",
            row["peer"],
            _time(row["ours"]),
            _time(row["theirs"]),
            row["figure"],
            row["asked"].replace(" ", "\N{NO-BREAK SPACE}"),
            day.replace("-", "\N{NON-BREAKING HYPHEN}"),
        ]
        for name, (day, row) in newest().items()
    ]
    (TABLES / "benchmarks.md").write_text(
        (_markdown(header, rows) if rows else "No run has been recorded.") + "\n"
    )
    (TABLES / "unreleased.md").write_text(unreleased())
    (TABLES / "claims.md").write_text(claims_markdown())
    real = json.loads((HERE.parent / "benchmarks" / "real.json").read_text())
    (TABLES / "real.md").write_text(_real(real) + "\n")


def _time(value):
    """Return a time in milliseconds or seconds if it is many microseconds, and anything else as it is."""
    if not value.endswith(" us") or float(value[:-3]) < 1000:
        return value
    micro = float(value[:-3])
    return f"{micro / 1e3:.3g} ms" if micro < 1e6 else f"{micro / 1e6:.3g} s"


def unreleased():
    """Return the fragments of the changelog that no release has collected yet."""
    fragments = sorted(
        path
        for path in (HERE.parent / "changelog.d").glob("*.md")
        if path.name != "README.md"
    )
    text = "\n".join(path.read_text().rstrip() for path in fragments) + "\n"
    return text.replace("](docs/", "](")  # links as seen from this folder


def newest():
    """Return the newest recorded measurement of each row of the benchmarks, with its date."""
    found = {}
    for path in sorted(BENCHMARKS.glob("*.json")):
        for name, row in json.loads(path.read_text())["rows"].items():
            found[name] = path.stem, row
    return found


def _real(found):
    """Return the best kernels and baselines of each real data set, two each."""
    header, rows = ["data", "kernels on measures", "", "baselines", "", "tested"], []
    for name, data in found.items():
        kernels, others = [], []
        for candidate, score in data["scores"].items():  # best first
            error = (score * (1 - score) / data["tested"]) ** 0.5
            side = kernels if "W2" in candidate or "MMD" in candidate else others
            side.append(f"{candidate} **{score:.3f}** ± {error:.3f}")
        cells = [*(kernels + ["", ""])[:2], *(others + ["", ""])[:2]]
        rows.append(
            [f"{name}: {data['task'].rstrip('.').lower()}", *cells, str(data["tested"])]
        )
    return _markdown(header, rows)


def _markdown(header, rows, title=""):
    lines = [header, ["---"] * len(header), *rows]
    return f"{title}\n\n".lstrip() + "\n".join(
        "| " + " | ".join(cells) + " |" for cells in lines
    )


if __name__ == "__main__":
    write_tables()

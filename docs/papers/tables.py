"""Write the tables of the paper pages from the recorded results: ``results/KEY-SIZE`` gives ``tables/KEY-SIZE.md``.

The documentation build calls it, so that a page cannot say more than was run. A folder of results is the output folder
of ``kermes reproduce KEY --SIZE`` without its pictures.
"""

import json
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent


def write_tables():
    """Write a file of Markdown tables for each folder of results."""
    (HERE / "tables").mkdir(exist_ok=True)
    for folder in sorted((HERE / "results").iterdir()):
        key, size = folder.name.split("-")
        paper = import_module(f"kermes.papers.{key}.run").PAPER
        summary = json.loads((folder / "summary.json").read_text())
        tables = [_markdown(table) for table in paper.tables(size, summary)]
        (HERE / "tables" / f"{folder.name}.md").write_text("\n\n".join(tables) + "\n")


def _markdown(table):
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    return f"{table.title}\n\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    write_tables()

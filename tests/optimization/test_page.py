"""The examples of the page on Bayesian optimisation."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "bayesian_optimization.md"


def test_examples_print_what_the_page_says(capsys):
    names = {}
    blocks = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    for code, expected in blocks:
        exec(compile(code, str(PAGE), "exec"), names)
        assert capsys.readouterr().out.strip() == expected.strip()

"""The page on many measures prints what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "features.md"


def test_examples_of_the_page(capsys):
    names = {}
    for code, expected in re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), names)
        assert capsys.readouterr().out.strip() == expected.strip()
    assert len(names) > 10

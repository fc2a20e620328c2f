import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def test_the_section_of_the_guide(capsys):
    """The first block prints the text that follows it; the second one runs."""
    section = GUIDE.read_text().split("## Which kernel for my data?")[1].split("\n## ")[0]
    first, second = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    names = {}
    exec(compile(first, str(GUIDE), "exec"), names)
    assert capsys.readouterr().out == re.search(r"```text\n(.*?)```", section, flags=re.DOTALL).group(1)
    exec(compile(second, str(GUIDE), "exec"), names)
    assert {row.status for row in names["found"].rows} == {"ok"}

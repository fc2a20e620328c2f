"""What Arrow's parser is given: quotes that stay open are found wherever the text is cut, as one character by one."""

import io
import random

import pytest

from kermes.files import _delimited
from kermes.files._text import Dialect


def is_open(text):
    """Return whether a quoted cell is open at the end, by one character after the other."""
    quoted, at_start, i = False, True, 0
    while i < len(text):
        if quoted:
            if text[i : i + 2] == '""':
                i += 1
            elif text[i] == '"':
                quoted, at_start = False, False
        elif text[i] == '"' and at_start:
            quoted = True
        else:
            at_start = text[i] in ",\r\n"
        i += 1
    return quoted


@pytest.mark.parametrize("seed", range(4))
def test_an_open_cell_is_found_in_pieces_of_any_size(seed):
    rng = random.Random(seed)
    for _ in range(500):
        text = "".join(rng.choices('"",\n\rax', k=rng.randrange(1, 40)))
        stream = _delimited.Stream(io.BytesIO(text.encode()), Dialect(), True)
        while stream.read(rng.randrange(1, 9)):
            pass
        assert bool(stream.open_cell) == is_open(text), text


def test_an_open_cell_is_found_far_from_the_end():
    for text, opened in [('"a\n', b'"a\n'), ('a,"b",5" c\n', b""), ('"a ""b"" c\n', b'"a ""b"" c\n')]:
        for rest in ("", "b\n" * 4000, "b\n" * 80_000):
            stream = _delimited.Stream(io.BytesIO((text + rest).encode()), Dialect(), True)
            while stream.read(100_000):
                pass
            assert stream.open_cell[: len(opened)] == opened
            assert bool(stream.open_cell) == bool(opened)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,0x1\n", True),
        ('a,"0XF"\n', True),
        ("0x1,a\n", True),
        ("a,-0x1\n", True),
        ("10x,x0x\n", False),
        ("a,0,x\n", False),
    ],
)
def test_hexadecimal_numbers_are_seen_at_the_start_of_cells(text, found):
    for size in (1, 2, 3, 100):
        stream = _delimited.Stream(io.BytesIO(b"x,y\n" + text.encode()), Dialect(), True)
        while stream.read(size):
            pass
        assert stream.has_hexadecimal == found

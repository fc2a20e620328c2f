"""``python -m kermes``: the command line."""

from .cli import main

main()

"""``python -m kermes``: the command line."""

from .cli import start

if __name__ == "__main__":
    start()

"""Damage that coverage guides, by atheris: ``python -m tests.fuzz.guided [READER ...]``, each for KERMES_FUZZ_SECONDS.

Starts from the valid files and changes them as ``mutate`` does; what reaches new lines is kept in ``.fuzz`` at the root
and changed further, by later runs too. What fails is kept in ``found``, where ``test_fuzz`` tries it again.
"""

import atexit
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

#: Where lines are counted: all that looks at the bytes of a file before it is trusted.
GUIDES = ("files", "measures", "engine", "_foreign", "_checks", "_persistence", "_model_checks", "_model_types")
with atheris.instrument_imports(
    include=[*(f"kermes.{name}" for name in GUIDES), "zipfile", "numpy.lib._format_impl", "numpy.lib._npyio_impl"]
):
    from tests.fuzz.readers import READERS, attempt

#: Megabytes that a process may take.
MOST = 2048


def fuzz(name: str, seconds: str) -> None:
    """Damage files of one kind; ends the process."""
    reader = READERS[name]
    folder, here = Path(tempfile.mkdtemp(prefix="kermes-fuzz-")), Path(__file__).parent
    corpus, found = here.parents[1] / ".fuzz" / name, here / "found" / name
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for made in (corpus, found):
        made.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(reader.seeds):
        (corpus / f"valid-{number}").write_bytes(content)

    def read(content: bytes) -> None:
        wrong = attempt(reader, content, folder)
        if wrong is not None:
            raise RuntimeError(wrong)

    def change(content: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        try:
            return reader.mutate(rng, content, rng.choice(reader.seeds))[:most]
        except Exception:  # too damaged to be taken apart
            return atheris.Mutate(content, most)

    limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={MOST}", "-timeout=60", "-max_len=65536"]
    atheris.Setup([sys.argv[0], str(corpus), f"-artifact_prefix={found}/", *limits], read, custom_mutator=change)
    atheris.Fuzz()


def main() -> int:
    """Run each reader in a process of its own, so that one that crashes does not end the others."""
    seconds = os.environ.get("KERMES_FUZZ_SECONDS", "3600")
    if sys.argv[1:2] == ["--here"]:
        fuzz(sys.argv[2], seconds)
    names = sys.argv[1:] or list(READERS)
    codes = {
        name: subprocess.run([sys.executable, "-m", "tests.fuzz.guided", "--here", name]).returncode for name in names
    }
    for name, code in codes.items():
        print(f"{name}: {'nothing found' if code == 0 else f'FAILED ({code})'}")
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main())

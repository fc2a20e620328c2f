"""Every number against an independent one that rounds nothing, or thirty digits later, over hostile measures.

- ``oracles``: what each divergence is by its definition, in fractions and mpmath, slow and obvious.
- ``truths``: which divergence goes with which oracle, what its documented error is relative to, and the bound.
- ``judge``: a value is right within its bound, refused by an error that says why, or reported by a status.
- ``python -m tests.truth``: the table of cases, worst errors and refusals.

200 cases of each, always the same ones; ``KERMES_CASES=1000`` tries so many random ones, by ``KERMES_SEED`` if that is
set. A failure names the number of its case, and ``KERMES_CASE=17 pytest "tests/truth/test_x.py::test_y[z]"``, with the
same number of cases and the seed that it names, runs this one alone.
"""

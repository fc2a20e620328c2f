"""Every number against an independent one that rounds nothing, or thirty digits later, over hostile measures.

- ``oracles``: what each divergence is by its definition, in fractions and mpmath, slow and obvious.
- ``truths``: which divergence goes with which oracle, what its documented error is relative to, and the bound.
- ``judge``: a value is right within its bound, refused by an error that says why, or reported by a status.
- ``python -m tests.truth``: the table of cases, worst errors and refusals; ``KERMES_CASES`` sets the number of cases.
"""

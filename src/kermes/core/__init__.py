"""Pure functions on arrays: the numbers of kermes, and nothing else.

Imports NumPy and Numba only. No validation, no exceptions: a core that can fail fills a status
array with the codes of :mod:`kermes.core.status`. Compiled functions are ``nogil`` and never
``parallel``: the engine's threads run them, one tile each. Modules with compiled code are imported
by the divergence that calls them, at its first call, so that ``import kermes`` does not load Numba.
"""

"""What became of a pair: one ``uint8`` code each."""

from __future__ import annotations

import numpy as np

OK = np.uint8(0)
#: The value is usable but its tolerance was not reached.
UNCONVERGED = np.uint8(1)
#: No finite value exists.
FAILED = np.uint8(2)
#: Another route has to do the pair (only inside a tile).
RETRY = np.uint8(3)
#: Not computed yet (only inside the engine).
PENDING = np.uint8(255)

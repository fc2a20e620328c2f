"""Speed against peers. ``python -m benchmarks`` prints every row; ``python -m benchmarks NAME`` some.

Each row runs kermes and a peer on the same work in one process, alternating, takes the best time of
each, checks that their numbers agree, and prints the ratio. Absolute times depend on the machine; the
ratio is the claim.
"""

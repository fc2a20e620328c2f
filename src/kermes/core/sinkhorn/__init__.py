"""Entropic transport between many pairs of weighted point sets.

For one pair, P = diag(u) exp(-C / eps) diag(v) with marginals a and b. The iteration stops when the plan with one
marginal exact (u = a / K v, so P 1 = a to rounding) has sum_j |(P^T 1 - b)_j| <= tol. Status: OK if that holds;
UNCONVERGED if it does not after max_iter iterations (the value is the last plan's); FAILED without a finite value.

Values, f = eps log(u / a) and g = eps log(v / b) throughout:
  TRANSPORT    <P, C> + sum_j g_j (b - P^T 1)_j: the cost of the plan, corrected for what is left of the marginal error
  REGULARIZED  <P, C> + eps KL(P | a b^T) at the optimum, computed as the dual value sum a f + sum b g

A tile, from top to bottom; every core does the pairs whose status is RETRY and leaves the others alone::

    structs      what the cores take: the two sides, the options, the answers
                        |
       +----------------+-----------------+
    table            points             grid           over-relaxed scaling, in float32 if tol >= 1e-5,
    shared support   coordinates        pixels         then in float64 for the pairs still RETRY
       +--- block -----+                  |            products with a dense block of K | with the axes of the grid
       |  products                        |            those of a block, by instructions on vectors
               +----------- loop ---------+            when to stop, and the relaxation: the schedule
                              |
                         stabilised                    log domain and epsilon scaling for what remains RETRY
                              |
                           newton                      potentials at small epsilon, from the semi-dual
    self_terms                                         REGULARIZED(a, a) and tree of a measure, for debiased values
    gap                                                what a plan proves about its dual value, for them
"""

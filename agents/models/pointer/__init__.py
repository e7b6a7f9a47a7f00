"""A policy that points: it chooses acts among those that a page offers, and builds texts of pieces that it has read.

After pointer networks (Vinyals et al. 2015, arXiv 1506.03134). Everything here is a function of the goal, of the pages as the
env shows them, and of earlier replies. `goals`, `pages` and `computing` read texts; `reader` makes arrays of them; `decoding` asks
questions with candidates, which `network` scores; `memory` recalls steps of past episodes.
"""

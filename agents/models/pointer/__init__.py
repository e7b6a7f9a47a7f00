"""A pointer policy: it selects actions from those that a page offers, and builds texts from pieces of the goal and the pages.

After pointer networks (Vinyals et al. 2015, arXiv 1506.03134). All features are functions of the goal, the observed pages, and earlier
replies. `goals`, `pages` and `computing` parse texts. `reader` turns candidates into arrays, `decoding` asks questions with candidates,
and `network` scores them. `memory` retrieves steps of past episodes, and `labels` matches unknown labels with known ones.
"""

"""Baselines: the methods that WebAgent-R1 compares with, on the same collector, learner and budget as M-GRPO.

- `filtered`: filtered behaviour cloning, which imitates the episodes that succeeded
- `awr`: advantage-weighted regression
- `digirl`: DigiRL, which imitates steps that two value functions call better than expected
- `webrl`: WebRL, which plays new tasks near those it failed, and moves towards advantages without leaving its last policy far
"""

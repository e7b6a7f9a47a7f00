"""Everyone who is measured, each in a process of its own, and all spoken to in the same way.

`contender` is this side; the adapters are the other, one for each way to walk through the same pages. They read commands as
lines of JSON and answer likewise, so that they can run on another Python with other packages.
"""

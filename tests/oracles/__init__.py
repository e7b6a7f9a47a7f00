"""Independent oracles: a second truth for each hard template, computed from the goal's text and the databases.

The author of an oracle has read the goals, the schemas and the rows, but not the template. `framework` compares what an oracle
demands with the expected answer of a task, and with what its reference solution changes.
"""

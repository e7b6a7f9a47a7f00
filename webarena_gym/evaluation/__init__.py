"""Evaluation of any agent: which episodes are played, by whom, what came of them, and how sure the figures are.

`webarena-gym evaluate` is its command line. An agent is a callable (observation, info) -> reply; see `agents`. The core is pure: `plan`,
`statistics`, `results`; at the edges are `agents`, `programs`, `runner`, and the commands.
"""

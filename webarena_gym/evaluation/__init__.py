"""Evaluation of any agent: selection of episodes, workers that play them, results, and confidence intervals.

`webarena-gym evaluate` is its command line. An agent is a callable (observation, info) -> reply; see `agents`. `statistics` and most of
`results` are pure functions; `agents`, `programs`, `runner` and the commands do the input and output.
"""

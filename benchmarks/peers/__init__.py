"""The contenders of the speed benchmarks, each in a process of its own, behind one protocol.

`contender` is the benchmark's side. There is one adapter for each environment. Adapters read commands as lines of JSON and answer with
lines of JSON, so they can run on another Python with other packages.
"""

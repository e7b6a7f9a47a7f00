"""The contenders of the speed benchmarks, each in a separate process, with one protocol.

`contender` is the benchmark's side. Each environment has an adapter. Adapters read commands as lines of JSON and answer with
lines of JSON, so they can run on another Python with other packages.
"""

"""Episode server: tasks for players in other processes, over HTTP and MCP, each in a world of its own and judged as the env judges.

`schema`, `episodes` and `gateway` are synchronous, open no socket and need no extra; the rest needs the extras `serve` and `mcp`.
"""

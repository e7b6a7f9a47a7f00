"""Episode server: tasks for agents in other processes, over HTTP and MCP.

Each episode has its own copy of the world, and is judged by the evaluators of the env. `schema`, `episodes` and `gateway` are
synchronous, open no socket and need no extra; the other modules need the extras `serve` and `mcp`.
"""

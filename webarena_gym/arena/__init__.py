"""An arena: episodes for players in other processes, in any language, each in a world of its own, judged as the env judges.

The core (`episodes`, `registry`, `gateway`, `translation`, `sessions`) is plain synchronous code that opens no socket. The edges
(`service`, `doors`, `application`, `tools`, `commands`) bring it to HTTP, to MCP and to the command line, and need the extras
`serve` and `mcp`.
"""

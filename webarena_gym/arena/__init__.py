"""An arena: episodes for players in other processes, in any language, each in a world of its own, judged as the env judges.

The core (`episodes`, `choice`, `envs`, `registry`, `gateway`, `translation`, `sessions`, `toolbox`) is plain synchronous code that
opens no socket. The edges (`doors`, `service`, `application`, `server`; `protocol`; `commands`) bring it to HTTP, to MCP and to the command line, and need the extras
`serve` and `mcp`.
"""

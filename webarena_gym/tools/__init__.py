"""The commands of `webarena-gym`, and what they do: audit, fuzz, serve, doctor."""

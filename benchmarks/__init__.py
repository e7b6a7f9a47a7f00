"""Benchmarks: one command for each claim about speed or learning."""

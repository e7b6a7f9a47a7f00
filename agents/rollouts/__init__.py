"""Rollouts: envs, policies, and what plays episodes in groups, in one process or many."""

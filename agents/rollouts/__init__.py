"""Rollouts: envs, policies, engines, and collectors that play episodes in one process or several."""

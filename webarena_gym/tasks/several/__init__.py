"""Placeholder."""

from webarena_gym.tasks.template import Templates

TEMPLATES = Templates("several")

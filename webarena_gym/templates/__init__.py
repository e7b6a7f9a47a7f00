"""The templates, one folder a site; `several` holds those over more than one. Each folder names its own in `TEMPLATES`.

They are loaded by `webarena_gym.tasks.templates`.
"""

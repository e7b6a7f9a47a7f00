"""The templates, one folder a site; `several` holds those over more than one. Each folder has the intents in a file,
`intents.toml`, and what draws them in modules: a function, or a row (`ways.py`), by the same name.

They are loaded by `webarena_gym.tasks.templates`.
"""

"""The templates, one folder a site, `several` for those over more than one, and `hard`: rows of its data files, and functions that
draw what is no row (`reader.py`). `webarena_gym.tasks.templates` loads them.
"""

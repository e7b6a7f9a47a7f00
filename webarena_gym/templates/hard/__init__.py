"""The hard templates, in modules by site and subject; their phrasings and texts are in a TOML file a site."""

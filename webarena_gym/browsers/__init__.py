"""The Browser protocol and its two implementations: the in-process browser and Chromium."""

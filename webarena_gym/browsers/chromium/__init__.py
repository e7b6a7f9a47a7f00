"""Chromium behind the Protocol of browsers, through Playwright."""

"""Browsers behind one Protocol: the in-process one, and Chromium."""

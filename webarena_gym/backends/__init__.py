"""Backends: the sites of a task and the browser on them (embedded sites, a web application, or real servers)."""

"""Adapters to the libraries of other projects: one module for each library, and only this module imports it."""

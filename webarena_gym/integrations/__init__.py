"""Thin adapters: this package's tasks in other projects' libraries, one module for each library, which that module alone imports."""

"""The code host's pages, one module for each noun; importing them registers their routes."""

"""The places where tasks are done: the embedded sites, and real servers."""

"""Framework of the embedded sites: routing, requests, sessions, forms, long lists, and a database that can be reset."""

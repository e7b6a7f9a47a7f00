"""What every embedded site is built with: routing, requests, sessions, forms, long lists, and a database that can be reset."""

"""Real servers of WebArena's applications, or of others: addresses, accounts, logins, and clients of their REST and chat APIs."""

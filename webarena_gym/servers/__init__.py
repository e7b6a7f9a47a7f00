"""Real servers: where they are, how one signs in, what their own interfaces say. For WebArena's applications, or others."""

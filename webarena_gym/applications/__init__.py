"""Web applications of other people as environments: how one starts, what its state is, a copy of it for each episode."""

"""How the code host's world is drawn from one integer: people, groups and projects, repositories, and the planning in them."""

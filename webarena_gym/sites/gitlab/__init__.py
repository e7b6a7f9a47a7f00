"""A code host: groups, projects, repositories with branches and commits, members, stars, forks, and the planning around them."""

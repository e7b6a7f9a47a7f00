"""The code host's templates: projects, repositories, members and groups, issues, merge requests and people."""

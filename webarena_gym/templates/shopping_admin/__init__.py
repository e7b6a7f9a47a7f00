"""The admin's templates: questions about trade and people, places to open, and changes to make."""

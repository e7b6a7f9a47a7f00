"""The encyclopedia's templates: questions about facts, lists and films, pages to open, and changes to make."""

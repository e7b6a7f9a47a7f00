"""The shop's templates: questions about goods and orders, places to open, and changes to make."""

"""The map's templates: facts about places, ways between them, what is nearest, pages to open, and changes to make."""

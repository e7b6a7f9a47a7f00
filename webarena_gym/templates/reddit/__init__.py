"""The forum's templates: things to post and to answer, votes, changes to what is mine, questions, and places to open."""

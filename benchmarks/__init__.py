"""One command for each claim about speed or learning."""

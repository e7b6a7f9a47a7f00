"""What the sites of one world have in common: its clock, people, country and invented words, how chance is drawn, and how values are written."""

"""What the sites of one world have in common: the clock, the people, the country, invented words, and how chance is drawn."""

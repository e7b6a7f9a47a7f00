"""Clock, people, country, invented words, random draws and formats of values that the sites of one world share."""

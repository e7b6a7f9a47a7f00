"""A map of the country: search, pages of places, routes by car, bicycle and on foot, saved places and notes."""

"""What the map's generator draws: roads, places, and the people who write notes."""

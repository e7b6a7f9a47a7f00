"""What the encyclopedia's generator draws: people, works, events, places, and the articles about them."""

"""A shop: catalogue, search, cart, checkout, orders, accounts, wish lists, reviews and a few pages of text."""

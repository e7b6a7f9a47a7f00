"""An encyclopedia: articles with infoboxes, lists, categories, search, page histories, editing and a watchlist."""

"""Pages, their elements and the network of an episode: the data that browsers, sites and observations share."""

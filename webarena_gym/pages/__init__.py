"""Pages, and the network of a browser: the contract between browsers, sites and readers of pages."""

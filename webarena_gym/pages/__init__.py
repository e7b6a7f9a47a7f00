"""What a browser shows, and the network that it is connected to: the contract between browsers, sites and readers of pages."""

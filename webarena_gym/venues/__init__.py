"""Where tasks are done: the embedded sites, or real servers, each with a browser on them."""

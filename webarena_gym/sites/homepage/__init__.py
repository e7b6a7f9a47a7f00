"""A start page: links to the other sites, the user's accounts, a calculator and a scratchpad."""

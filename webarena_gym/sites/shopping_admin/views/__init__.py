"""The admin's pages, one module per noun; importing this package registers them all."""

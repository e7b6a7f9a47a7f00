"""The templates over two sites. A task opens one tab for each of them, in the order of its sites."""

"""A verifier that ends its process."""

import os


def verify(server_url):
    os.abort()

"""Constrained decoding: replies of a language model that are well-formed actions on the page, with arguments copied from goal or page."""

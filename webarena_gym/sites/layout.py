"""How the sites of a world are built, as opposed to what is on them: page sizes, wording, order, markup.

The plain layout leaves everything as it was written.
"""


class Layout:
    """One way of building the sites, drawn from a seed; None stands for the plain one."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def page_size(self, usual: int) -> int:
        """Return how many rows a list shows on one page where the plain layout shows `usual`."""
        return usual

    def label(self, text: str) -> str:
        """Return what stands where the plain layout has the label `text`."""
        return text

    def rebuild(self, html: str) -> str:
        """Return a plain page in this layout."""
        return html


PLAIN = Layout()

"""A visitor of the forums, with the rows of their database."""

from tests.visitors import Visitor

NOW = "2023-06-10 12:00:00"
MUSES = "/f/books/1/who-are-the-muses"


class ForumVisitor(Visitor):
    """Somebody in the forum."""

    def __init__(self, base: bytes) -> None:
        super().__init__("forum.test", "reddit", base)

    def sign_in(self, user_id: int = 1) -> "ForumVisitor":
        return super().sign_in(user_id=user_id)

    @property
    def h1(self) -> str:
        (heading,) = self.browser.page().root.iter("h1")
        return heading.text_content()

    @property
    def names(self) -> list[str]:
        """The submissions of the list, in order."""
        return [link.text_content() for link in self.browser.page().root.cssselect("article.card h2 a")]

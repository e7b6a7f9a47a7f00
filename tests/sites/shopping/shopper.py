"""A visitor of the shop, with the rows of its database."""

from tests.visitors import Visitor

HOST = "http://shop.test"


class Shopper(Visitor):
    """Somebody in the shop."""

    def __init__(self, base: bytes) -> None:
        super().__init__("shop.test", "shopping", base)

    def sign_in(self, customer_id: int = 1) -> "Shopper":
        return super().sign_in(customer_id=customer_id)

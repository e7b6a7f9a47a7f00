"""How the shop's world is drawn from one integer: names, goods, people, trade, opinions and the store itself."""

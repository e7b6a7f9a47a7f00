"""A small suite of another project, for tests, with replies that solve its tasks."""

from pathlib import Path

ERRANDS = Path(__file__).parent
SOLVED = ['do(action="Type", argument="jam", element="Thing")', 'do(action="Click", element="Put")', "exit()"]
CARD = ['do(action="Type", argument="Call Ann", element="Card")', 'do(action="Click", element="Add")', "exit()"]

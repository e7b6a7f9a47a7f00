"""An env that is closed has closed its databases: Python 3.13 and newer report those that it would leave open."""

import gc
import sqlite3

import pytest

from webarena_gym.env import WebArenaLite

CONNECT = sqlite3.connect


class Connection(sqlite3.Connection):
    is_open = True

    def close(self):
        self.is_open = False
        super().close()


@pytest.fixture
def opened(monkeypatch):
    """The connections that are opened during a test, kept alive."""
    connections = []

    def connect(*arguments, **keywords):
        connections.append(CONNECT(*arguments, **keywords, factory=Connection))
        return connections[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    return connections


def test_a_closed_env_has_no_open_database(opened):
    env = WebArenaLite(split="test", elements="label")
    env.reset(options={"task": "shopping.wish_list_add/1000/0"})
    env.step('do(action="Search", argument="Earphones", element="Search entire store")')
    snapshot = env.snapshot()
    for _ in range(2):
        env.step('exit(message="")')
        env.restore(snapshot)
    env.reset(options={"task": "shopping.product_price/2/0"})  # another world
    env.close()
    assert len(opened) > 2
    assert [connection for connection in opened if connection.is_open] == []


def test_the_database_of_visited_tables_is_closed_with_its_env(opened):
    env = WebArenaLite(split="tools", tools=["table_sql"])
    env.reset(seed=0)
    for _ in range(2):
        env.step('table_sql(query="SELECT * FROM tables")')
        env.reset(seed=1)
    env.close()
    del env
    gc.collect()
    assert len(opened) > 2
    assert [connection for connection in opened if connection.is_open] == []

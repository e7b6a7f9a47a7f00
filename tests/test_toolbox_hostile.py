"""Hostile calls of the bundled tools: no exception leaves `step`, no step takes long, and nothing is written.

`python -m tests.test_toolbox_hostile 100000` runs more of them, and prints the slowest.
"""

import json
import os
import sys
import time
from random import Random

from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer

ADMIN = Task(
    "hostile",
    ("shopping_admin",),
    "__SHOPPING_ADMIN__",
    "Say done.",
    answer(exact_match="done"),
    world_seed=0,
    require_login=True,
)
LIMIT_S = 0.1  # of CPU time

STATEMENTS = (
    "SELECT * FROM t1", "SELECT * FROM tables", "SELECT count(*) FROM t1 a, t1 b, t1 c, t1 d, t1 e, t1 f, t1 g, t1 h, t1 i, t1 j",
    "INSERT INTO t1 VALUES (1, 2, 3)", "DELETE FROM t1", "UPDATE t1 SET total = 0", "DROP TABLE t1", "CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)",
    "ATTACH DATABASE 'hostile.db' AS x", "ATTACH '/etc/passwd' AS x", "VACUUM INTO 'hostile.db'", "PRAGMA writable_schema = 1", "PRAGMA query_only = 0",
    "SELECT load_extension('libc.so.6')", "SELECT readfile('/etc/passwd')", "SELECT writefile('hostile.db', 'x')", "SELECT fts3_tokenizer('x')",
    "WITH RECURSIVE x (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x) SELECT count(*) FROM x", "SELECT random()", "SELECT datetime('now')",
    "SELECT zeroblob(1000000000)", "SELECT hex(zeroblob(100000000))", "SELECT printf('%1000000000d', 1)", "SELECT replace(replace(url, 'a', url), 'b', url) FROM tables",
    "SELECT group_concat(a.title || b.title) FROM tables a, tables b, tables c, tables d", "SELECT * FROM json_each('[1, 2]')",
    "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "SELECT count(*) FROM tables a, tables b WHERE a.url || b.url || a.url || b.url LIKE '%a%d%m%i%n%a%d%m%i%n%x%y'",
    "SELECT count(*) FROM tables a, tables b WHERE a.url || b.url || a.url || b.url GLOB '*a*d*m*i*n*a*d*m*i*n*x*y'",
    "SELECT sum(1) OVER (ORDER BY a.rows) FROM tables a, tables b, tables c, tables d ORDER BY 1", "SELECT * FROM sqlite_master", "SELECT * FROM pragma_table_info('t1')",
    "EXPLAIN SELECT * FROM t1", "SELECT 1; DROP TABLE t1", "SELECT substr(url, 1, 9223372036854775807) FROM tables", "SELECT 9223372036854775807 + 1, -9223372036854775808 / -1",
    "SELECT abs(-9223372036854775808)", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "ANALYZE", "REINDEX", "DETACH main", "SELECT 1 WHERE 1 REGEXP 'x'", "",
    "SELECT * FROM t1 MATCH 'x'", "SELECT 1e999, -1e999, 1e999 - 1e999", "SELECT x'00ff', char(0), 'a' || char(55296)", "SELECT exp(1000), ln(-1), pow(9, 9999), sqrt(-1)",
    "SELECT DISTINCT a.url, b.url, c.url FROM tables a, tables b, tables c ORDER BY 3, 2, 1", "VALUES (1), (2)",
)  # fmt: skip
WORDS = ("select", "from", "t1", "t2", "tables", "where", "(", ")", ",", "*", "'", '"', "--", "/*", "*/", ";", "group by", "order by", "having", "union all", "join",
         "with x as", "not", "null", "1", "0x7fffffffffffffff", "||", "like", "in", "exists", "over", "case when", "then", "end", "cast", "as", "\0", "\ud800", "é", "🏭")  # fmt: skip
SEARCHES = (
    "mill town",
    "",
    "a",
    '" OR "',
    "NEAR(a b, 99999)",
    "title:x",
    "a* OR b*",
    "{title body}: x",
    "^x",
    "-x",
    "\0",
    "\ud800",
    "'; DROP TABLE passage",
    "AND OR NOT",
)


def nested(dice, depth):
    opening, closing = dice.choice(("[]", "()", "{}", ('{"a":', "}"), ("[[", "]]")))
    return opening * depth + dice.choice(("", "1", '"x"')) + closing * dice.choice((depth, 0, depth - 1))


def hostile_sql(dice):
    match dice.randrange(9):
        case 0:
            return " ".join(dice.choices(WORDS, k=dice.randrange(60)))
        case 1:
            return "SELECT " + "(" * (size := dice.randrange(1_000)) + "1" + ")" * size
        case 2:
            return "SELECT 1 " + "UNION SELECT 1 " * dice.randrange(100)
        case 3:
            return f"SELECT count(*) FROM {', '.join(f't1 x{number}' for number in range(dice.randrange(1, 150)))}"
        case 4:
            levels = dice.randrange(1, 30)
            parts = (f"x{number + 1} AS (SELECT a.c FROM x{number} a, x{number} b)" for number in range(levels))
            return f"WITH x0 AS (SELECT 1 c), {', '.join(parts)} SELECT count(*) FROM x{levels}"
        case 5:
            return f"SELECT * FROM t1 WHERE {dice.choice(('1', 'rowid', 'customer'))} IN ({', '.join(map(str, range(dice.randrange(400))))})"
        case 6:
            one, other = dice.choices(STATEMENTS, k=2)
            return f"{one[: dice.randrange(len(one) + 1)]} {other[dice.randrange(len(other) + 1) :]}"
        case 7:
            one, other = dice.choices(STATEMENTS, k=2)
            return dice.choice(
                (f"SELECT * FROM ({one})", f"SELECT ({one}), ({other})", f"{one} UNION {other}", f"WITH x AS ({one}) {other}")
            )
    return dice.choice(STATEMENTS)


def hostile_reply(dice):
    """Return a reply that calls a bundled tool, or tries to."""
    value = dice.choice(
        (
            None,
            True,
            -1,
            0,
            10**30,
            1.5,
            1e308,
            [],
            {},
            "x" * dice.choice((1, 3_000, 90_000)),
            nested(dice, dice.randrange(1, 3_000)),
        )
    )
    text = dice.choice(
        (hostile_sql(dice), hostile_sql(dice), hostile_sql(dice), dice.choice(SEARCHES), "a " * dice.randrange(20_000))
    )
    match dice.randrange(8):
        case 0:
            return f"lookup(query={json.dumps(text)}, k={json.dumps(value)})"
        case 1:
            return f"lookup(query={json.dumps(value)})"
        case 2:
            return f"lookup({json.dumps(dice.choice(SEARCHES) + text[: dice.randrange(3_000)])}, {dice.randrange(-3, 13)})"
        case 3:
            return f"table_sql({nested(dice, dice.randrange(1, 40_000))})"
        case 4:
            return f"table_sql(query={json.dumps(text)}, {dice.choice(('query', 'k', 'self', '__class__', '*'))}={json.dumps(value)})"
        case 5:
            return f"table_sql(query={json.dumps(text)}){dice.choice(('', '', ')', ' lookup(query=1)', '</answer>'))}"
    return f"table_sql(query={json.dumps(text)})"


def run(count, seed=0):
    """Return the CPU seconds and the replies of the slowest steps of some hostile calls."""
    dice, slowest = Random(seed), []
    env = WebArenaLite(tasks=[ADMIN], tools=["lookup", "table_sql"], max_steps=200)
    before, is_over = sorted(os.listdir()), True
    for _ in range(count):
        if is_over:
            env.reset(seed=0)
            page = env.page
            tables = env.snapshot().episode.tools.states
        reply = hostile_reply(dice)
        start = time.process_time()
        _, _, terminated, truncated, info = env.step(reply)
        slowest = sorted([*slowest, (time.process_time() - start, reply)], reverse=True)[:5]
        is_over = terminated or truncated
        assert not terminated
        assert "failure" not in info
        assert "site_errors" not in info
        if is_over:
            assert env.page.url == page.url
            assert env.changes() == []
            assert env.snapshot().episode.tools.states == tables
    assert env.changes() == []
    assert sorted(os.listdir()) == before
    env.close()
    return slowest


def test_hostile_calls_raise_nothing_write_nothing_and_end_soon(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    slowest = run(400)
    assert slowest[1][0] < 5 * LIMIT_S, slowest[1][1][
        :500
    ]  # the second, as any step may meet a collection of garbage; with a margin for load


if __name__ == "__main__":
    for seconds, slow in run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        print(f"{1000 * seconds:.0f} ms: {slow[:300]!r}")

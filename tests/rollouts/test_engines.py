"""Pools of requests: order, limits, failures and cancellation."""

import threading

import pytest

from agents.rollouts.engines import RequestPool
from tests.errors import expect_error


@pytest.fixture
def pool(request):
    made = RequestPool(getattr(request, "param", 2))
    yield made
    made.close()


def test_results_are_returned_in_the_order_of_completion(pool):
    first = threading.Event()
    pool.submit(lambda: (first.wait(30), "slow")[1])
    pool.submit(lambda: "fast")
    assert not pool.is_idle
    assert pool.take(30) == ["fast"]
    first.set()
    assert (pool.take(30), pool.is_idle, pool.take()) == (["slow"], True, [])


@pytest.mark.parametrize("pool", [1], indirect=True)
def test_requests_beyond_the_size_wait_and_are_cancelled(pool):
    started, go = threading.Event(), threading.Event()
    calls = []

    def call():
        started.set()
        go.wait(30)
        calls.append(1)

    pool.submit(call)
    pool.submit(call)
    assert started.wait(30)
    assert pool.take(0.01) == []
    threading.Timer(0.05, go.set).start()
    pool.close()
    assert (calls, pool.is_idle) == ([1], True)


def test_an_error_of_a_request_is_raised_and_others_remain(pool):
    pool.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        pool.take(30)
    pool.submit(lambda: 3)
    assert pool.take(30) == [3]


@pytest.mark.parametrize("size", [0, -1])
def test_a_pool_has_a_thread(size):
    with expect_error(ValueError, size):
        RequestPool(size)

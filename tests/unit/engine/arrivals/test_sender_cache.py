from __future__ import annotations

import pytest

from openmsmq.engine.arrivals.sender_cache import SenderCache, SenderPending
from openmsmq.security.principals import principal_sid
from openmsmq.security.sid import Sid


def user(number: int) -> Sid:
    return Sid(5, (21, 1, 2, 3, number))


def test_a_sender_is_asked_for_and_remembered() -> None:
    """MQDS-177, MSEC-067, MSEC-069, MQQB-319, MQQB-320: 20 minutes from when the answer came.

    MSEC-070, MQQB-321: no timer is needed, what is too old is asked for again.
    """
    asked: list[Sid] = []
    cache = SenderCache(asked.append)
    with pytest.raises(SenderPending):
        cache.certificates(user(1), 1000)
    assert asked == [user(1)]
    cache.found(user(1), (b"certificate",), 1000)
    assert cache.certificates(user(1), 2199) == (b"certificate",)
    assert asked == [user(1)]
    with pytest.raises(SenderPending):
        cache.certificates(user(1), 2200)
    assert asked == [user(1)] * 2


def test_a_full_cache_loses_its_oldest_half() -> None:
    """MQDS-177, MSEC-068, MQQB-319, MQQB-320: 53 entries; the next one drops 26."""
    asked: list[Sid] = []
    cache = SenderCache(asked.append)
    for number in range(53):
        cache.found(user(number), (b"x",), number)
    for number in range(200, 300):
        cache.found(user(number), (), number)  # strangers take no place of those
    assert cache.certificates(user(0), 100) == (b"x",)
    cache.found(user(53), (b"x",), 100)
    for number in range(26):
        with pytest.raises(SenderPending):
            cache.certificates(user(number), 100)
    assert len(asked) == 26
    assert all(cache.certificates(user(number), 100) for number in range(26, 54))


def test_a_directory_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    """MSEC-066: a short outage costs nothing; a long one does not hold back what is behind."""
    asked: list[Sid] = []
    cache = SenderCache(asked.append)
    for now in (0, 100, 299):
        with pytest.raises(SenderPending):
            cache.certificates(user(1), now)
    assert cache.certificates(user(1), 300) == ()
    assert cache.certificates(user(1), 301) == ()
    assert asked == [user(1)] * 5, "it is asked for all the same"
    cache.found(user(1), (b"certificate",), 302)
    assert cache.certificates(user(1), 303) == (b"certificate",)


def test_the_wait_is_that_of_one_message() -> None:
    """Another one much later waits as long; and there is room for some of them only."""
    cache = SenderCache(lambda sid: None)
    for now in (0, 1200, 1499):
        with pytest.raises(SenderPending):
            cache.certificates(user(1), now)
    assert cache.certificates(user(1), 1500) == ()
    for number in range(2, 55):
        with pytest.raises(SenderPending):
            cache.certificates(user(number), 1500)
    with pytest.raises(SenderPending):
        cache.certificates(user(1), 1500)


def test_who_is_no_user_of_a_domain_is_not_asked_for() -> None:
    asked: list[Sid] = []
    cache = SenderCache(asked.append)
    for sid in (principal_sid("user", "anna"), Sid(5, (18,)), Sid(1, (0,))):
        assert cache.certificates(sid, 0) == ()
    cache.found(user(1), (), 0)
    assert cache.certificates(user(1), 0) == ()
    cache.forget(user(1))
    with pytest.raises(SenderPending):
        cache.certificates(user(1), 0)
    assert asked == [user(1)]

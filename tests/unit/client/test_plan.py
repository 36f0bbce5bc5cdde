"""What a file says, and the steps to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from openmsmq.client.plan import (
    QUEUE_KEYS,
    SETTINGS_KEYS,
    FileError,
    Impossible,
    Step,
    make_plan,
    read_plan,
)
from openmsmq.names.path import parse_path_name

ORDERS = parse_path_name(r".\private$\orders")
TYPE = UUID(int=77)
FULL = f"""
[settings]
quota = 1000
journal_quota = "none"
history = 0
time_to_reach_queue = 60
confirmation_grace = 5
keep_refused = false
reports = true
insecure_nacks = true
audit = 2
audit_opens = true
new_queues = "restricted"
permissions = "O:BAD:(A;;LC;;;AU)"
hardened = true
dedup_count = 500
dedup_time = 3600
clock_tolerance = 30
inherited_names = ["old"]
[queue.orders]
transactional = true
journal = true
quota = "none"
journal_quota = 20
label = "all"
authenticate = false
privacy = "body"
base_priority = -3
type = "{TYPE}"
abort_limit = 5
retry_delay = 30
poison = "dead-letter"
multicast = ""
"""


def info(name: str = r".\private$\orders", **properties: Any) -> Any:
    """A queue that is there, as much of it as a plan looks at."""
    defaults = {
        "transactional": False, "journal": False, "quota": None, "journal_quota": None,
        "label": "", "authenticate": False, "privacy": 1, "base_priority": 0, "type": UUID(int=0),
        "messages": 0, "delayed": 0, "abort_limit": 0, "retry_delay": 0, "poison": "subqueue",
    }  # fmt: skip
    return SimpleNamespace(name=name, **{**defaults, **properties})


def test_a_file_says_every_property() -> None:
    wanted = read_plan(FULL)
    assert wanted.settings == {
        "quota": 1000,
        "journal_quota": None,
        "history": 0,
        "time_to_reach_queue": 60,
        "confirmation_grace": 5,
        "keep_refused": False,
        "reports": True,
        "insecure_nacks": True,
        "hardened": True,
        "audit": 2,
        "audit_opens": True,
        "new_queues": "restricted",
        "permissions": "O:BAD:(A;;LC;;;AU)",
        "dedup_count": 500,
        "dedup_time": 3600,
        "clock_tolerance": 30,
        "inherited_names": ("old",),
    }
    assert wanted.queues == {
        ORDERS: {
            "transactional": True,
            "journal": True,
            "quota": None,
            "journal_quota": 20,
            "label": "all",
            "authenticate": False,
            "privacy": 2,
            "base_priority": -3,
            "type": TYPE,
            "abort_limit": 5,
            "retry_delay": 30,
            "poison": "dead-letter",
            "multicast": "",
        }
    }
    assert wanted.settings.keys() == SETTINGS_KEYS.keys()
    assert wanted.queues[ORDERS].keys() == QUEUE_KEYS.keys()


@pytest.mark.parametrize(
    "key", ["orders", r"'private$\orders'", r'"PRIVATE$\\Orders"', r"'.\private$\ORDERS'"]
)
def test_a_queue_may_be_named_in_many_ways(key: str) -> None:
    assert list(read_plan(f"[queue.{key}]").queues) == [ORDERS]


def test_public_queues_have_names_too() -> None:
    assert list(read_plan(r"[queue.'.\orders']").queues) == [parse_path_name(r".\orders")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[queue.orders\n", "line 1"),
        ("\n\nquota 5", "line 3"),
        ("[setings]", "setings: no such key; did you mean settings?"),
        ("[queue.orders]\nqota = 5", "queue.orders.qota: no such key; did you mean quota?"),
        ("[queue.orders]\nxyz = 5", "queue.orders.xyz: no such key; there are transactional, "),
        ("[settings]\nhistry = 5", "settings.histry: no such key; did you mean history?"),
        ("queue = 5", "queue: a table is needed"),
        ("queue.orders = 5", "queue.orders: a table is needed"),
        ("settings = []", "settings: a table is needed"),
        ("[queue.orders]\njournal = 1", "queue.orders.journal: true or false is needed, not 1"),
        ("[queue.orders]\nquota = true", 'quota: a whole number from 0 to 4294967294, or "none"'),
        ("[queue.orders]\nquota = -1", "not -1"),
        ("[queue.orders]\nquota = 4294967295", "not 4294967295"),
        ("[queue.orders]\nquota = '5'", "not '5'"),
        ("[queue.orders]\nlabel = 5", "a text of at most 124 characters is needed"),
        (f"[queue.orders]\nlabel = '{'x' * 125}'", "at most 124"),
        ("[queue.orders]\nprivacy = 'all'", "one of none, optional, body is needed, not 'all'"),
        ("[queue.orders]\nprivacy = [1]", "one of none, optional, body is needed"),
        ("[queue.orders]\nbase_priority = 32768", "-32768 to 32767"),
        ("[queue.orders]\ntype = 'x'", "a GUID is needed, not 'x'"),
        ("[settings]\nhistory = 'none'", "settings.history: a whole number"),
        ("[settings]\ntime_to_reach_queue = -1", "settings.time_to_reach_queue"),
        (r"[queue.'a\b\c']", r"queue.'a\b\c': "),
        (r"[queue.'other\private$\a']", "only queues of this manager"),
        (r"[queue.'DIRECT=OS:.\private$\a']", "only queues of this manager"),
        ("[queue.'orders;retry']", "the manager itself keeps"),
        (r"[queue.'.\DeadLetter$']", "the manager itself keeps"),
        ("[queue.orders]\n" + r"[queue.'private$\ORDERS']", "is there twice"),
    ],
)
def test_mistakes_are_named(text: str, words: str) -> None:
    with pytest.raises(FileError) as caught:
        read_plan(text)
    assert words in str(caught.value)


def test_a_queue_that_is_not_there_is_created() -> None:
    [step] = make_plan(read_plan("[queue.orders]\njournal = true"), [], None)
    assert (step.action, step.name, step.values) == (
        "create",
        r".\private$\orders",
        {"journal": True},
    )


def test_only_what_differs_is_changed() -> None:
    wanted = read_plan("[queue.Orders]\njournal = true\nlabel = 'a'\nquota = 'none'")
    [step] = make_plan(wanted, [info(label="b", journal=True)], None)
    assert step == Step("change", r".\private$\orders", {"label": ("b", "a")})


def test_what_is_as_it_should_be_is_kept() -> None:
    wanted = read_plan("[queue.orders]\nlabel = ''\n[settings]\nquota = 5")
    steps = make_plan(wanted, [info(quota=7)], SimpleNamespace(quota=5))
    assert [step.action for step in steps] == ["keep", "keep"]


def test_settings_are_changed() -> None:
    wanted = read_plan("[settings]\nquota = 5\nhistory = 64")
    [step] = make_plan(wanted, [], SimpleNamespace(quota=None, history=64))
    assert step == Step("change", "", {"quota": (None, 5)})
    [step] = make_plan(wanted, [], None)
    assert step.values == {"quota": 5, "history": 64}, "the manager is yet to be made"


@pytest.mark.parametrize("transactional", [True, False])
def test_a_queue_is_transactional_for_life(*, transactional: bool) -> None:
    wanted = read_plan(f"[queue.orders]\ntransactional = {str(not transactional).lower()}")
    with pytest.raises(Impossible, match="cannot change that"):
        make_plan(wanted, [info(transactional=transactional)], None)


def test_other_queues_stay_unless_they_are_pruned() -> None:
    wanted = read_plan("[queue.orders]")
    queues = [info(), info(r".\private$\old"), info(r".\private$\full", messages=3)]
    assert [step.action for step in make_plan(wanted, queues, None)] == ["keep"]
    steps = make_plan(wanted, queues[:2], None, prune=True)
    assert steps[1:] == [Step("delete", r".\private$\old")]
    with pytest.raises(Impossible, match=r"full is not in the file, but holds 3 messages"):
        make_plan(wanted, queues, None, prune=True)
    steps = make_plan(wanted, queues, None, prune=True, force=True)
    assert steps[-1] == Step("delete", r".\private$\full", messages=3)

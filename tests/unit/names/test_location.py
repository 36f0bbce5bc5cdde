"""Where queues lie."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import IllegalFormatName
from openmsmq.names.format import parse_format_name
from openmsmq.names.location import Location, locate
from openmsmq.names.path import PathName, parse_path_name

OWN = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
ELSEWHERE = UUID("11111111-2222-4333-8444-555566667777")
PUBLIC = UUID("01234567-89ab-4cde-8f01-23456789abcd")
UNKNOWN = UUID(int=1)


class KnownPlaces:
    """Two computers and two queues."""

    def public_queue(self, queue: UUID) -> PathName | None:
        return parse_path_name(r"printhost\jobs") if queue == PUBLIC else None

    def computer(self, manager: UUID) -> str | None:
        return {OWN: "Home", ELSEWHERE: "Away"}.get(manager)

    def private_queue(self, manager: UUID, number: int) -> PathName | None:
        own = (manager, number) == (OWN, 12)
        return parse_path_name(r"Home\private$\orders") if own else None


def located(text: str) -> Location:
    return locate(parse_format_name(text), KnownPlaces())


@pytest.mark.parametrize(
    ("text", "machine", "path"),
    [
        (r"DIRECT=OS:h\private$\q;s", "h", r"h\private$\q;s"),
        (r"DIRECT=TCP:10.0.0.1\q", "10.0.0.1", r"10.0.0.1\q"),
        (r"DIRECT=OS:h\SYSTEM$;JOURNAL", "h", r"h\Journal$"),
        ("DIRECT=HTTP://h:8080/msmq/private$/q", "h", r"h\private$\q"),
        ("DIRECT=HTTPS://h/msmq/q", "h", r"h\q"),
    ],
)
def test_a_direct_name_says_it_itself(text: str, machine: str, path: str) -> None:
    """DMPR-182."""
    found = located(text)
    assert (found.machine, str(found.path)) == (machine, path)


def test_the_directory_knows_public_queues() -> None:
    """DMPR-183."""
    assert located(f"PUBLIC={PUBLIC}") == ("printhost", parse_path_name(r"printhost\jobs"))


@pytest.mark.parametrize(("manager", "machine"), [(OWN, "Home"), (ELSEWHERE, "Away")])
def test_a_private_queue_lies_where_its_manager_does(manager: UUID, machine: str) -> None:
    """DMPR-184: its path is known only at home."""
    found = located(f"PRIVATE={manager}\\c")
    assert found.machine == machine
    assert found.path == (parse_path_name(r"home\PRIVATE$\orders") if manager == OWN else None)
    assert located(f"PRIVATE={manager}\\d") == (machine, None)


@pytest.mark.parametrize(
    "text",
    [
        f"PUBLIC={UNKNOWN}",
        rf"PRIVATE={UNKNOWN}\c",
        f"MACHINE={OWN};JOURNAL",
        f"DL={PUBLIC}",
        "MULTICAST=234.1.1.1:8001",
    ],
)
def test_an_unknown_queue_is_refused(text: str) -> None:
    """DMPR-183, DMPR-184."""
    with pytest.raises(IllegalFormatName):
        located(text)

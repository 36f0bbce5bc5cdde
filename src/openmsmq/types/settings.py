"""The settings of a queue manager."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from openmsmq.errors import IllegalPropertyValue
from openmsmq.properties.message import INFINITE, TIME_TO_REACH_QUEUE_DEFAULT
from openmsmq.routing.file import read_topology
from openmsmq.security.access import ManagerRights
from openmsmq.security.defaults import NewQueues
from openmsmq.security.permissions import normal_permissions

HISTORY_MIB: Final = 64
AUDIT_MIB: Final = 16
DEDUP_COUNT: Final = 100_000
DEDUP_COUNT_MAX: Final = 100_000_000
DEDUP_TIME: Final = 24 * 60 * 60
CLOCK_TOLERANCE: Final = 60
CLOCK_TOLERANCE_MAX: Final = 24 * 60 * 60
CONFIRMATION_GRACE: Final = 2
_MEBIBYTES: Final = 1 << 20
_RANGES: Final = (
    ("history", 0, _MEBIBYTES),
    ("audit", 0, _MEBIBYTES),
    ("dedup_count", 1, DEDUP_COUNT_MAX),
    ("dedup_time", 1, INFINITE - 1),
    ("clock_tolerance", 0, CLOCK_TOLERANCE_MAX),
    ("confirmation_grace", 0, INFINITE - 1),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The attributes of the queue manager that people set ([MS-MQDMPR] 3.1.1.1)."""

    quota: int | None = None
    "KiB all messages together may take; None for no limit."
    journal_quota: int | None = None
    "KiB the journal of sent messages may take."
    history: int = HISTORY_MIB
    "MiB of history that are kept for `explain`; 0 for none."
    audit: int = AUDIT_MIB
    "MiB of the audit log that are kept; 0 for none."
    audit_opens: bool = False
    "Record also who opened which queue; else only what was denied, and administrative acts."
    time_to_reach_queue: int | None = TIME_TO_REACH_QUEUE_DEFAULT
    "Seconds a message to another computer may travel, if it does not say; None for ever."
    confirmation_grace: int = CONFIRMATION_GRACE
    "Seconds after its time to be received in which a sent message can still be confirmed."

    dedup_count: int = DEDUP_COUNT
    "How many deduplication ids of sent messages are remembered."
    dedup_time: int = DEDUP_TIME
    "Seconds for which they are remembered: the deduplication window."

    clock_tolerance: int = CLOCK_TOLERANCE
    "Seconds that the clocks of other managers may be behind ours: a message that comes so much"
    "later than its TimeToReachQueue is taken (AMB-41)."

    inherited_names: tuple[str, ...] = ()
    "Names of this computer under which transactional messages came before names were checked."

    keep_refused: bool = True
    "Keep what other managers send without a transaction and is not accepted, in `Refused$`."
    reports: bool = False
    "Send reports about messages that are traced (EnableReportMessages)."
    insecure_nacks: bool = False
    "Tell senders also that a queue does not exist or is closed to them (PermitInsecureNacks)."
    permissions: str = ""
    "The security descriptor of the manager in SDDL; nothing for one that is open."
    new_queues: NewQueues = "open"
    "What a queue allows whose creator does not say: `open`, `spec`, `restricted`, `recommended`."
    hardened: bool = False
    "Hardened mode: nothing is transferred but over HTTP. Takes effect at the next start."
    topology: str = ""
    "Sites, links and managers by which messages are routed, as a topology file says them in TOML."

    def __post_init__(self) -> None:
        for name in ("quota", "journal_quota", "time_to_reach_queue"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 <= value < INFINITE):
                raise IllegalPropertyValue(f"{name} {value!r}: 0 to {INFINITE - 1}, or None")
        self._check_names()
        self._check_security()
        self._check_topology()
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not (_is_number(value) and least <= value <= most):
                raise IllegalPropertyValue(f"{name} {value!r}: {least} to {most}")

    def _check_names(self) -> None:
        names: object = self.inherited_names
        if not (isinstance(names, list | tuple) and all(isinstance(item, str) for item in names)):
            raise IllegalPropertyValue(f"inherited_names {names!r}: a list of names of computers")
        object.__setattr__(self, "inherited_names", tuple(names))

    def _check_security(self) -> None:
        for name in ("audit_opens", "hardened", "insecure_nacks", "keep_refused", "reports"):
            if not isinstance(getattr(self, name), bool):
                raise IllegalPropertyValue(f"{name} {getattr(self, name)!r}: true or false")
        if self.new_queues not in get_args(NewQueues):
            words = ", ".join(get_args(NewQueues))
            raise IllegalPropertyValue(f"new_queues {self.new_queues!r}: one of {words}")
        if not isinstance(self.permissions, str):
            raise IllegalPropertyValue(f"permissions {self.permissions!r}: a text in SDDL")
        normal = normal_permissions(self.permissions, ManagerRights)
        object.__setattr__(self, "permissions", normal)

    def _check_topology(self) -> None:
        if not isinstance(self.topology, str):
            raise IllegalPropertyValue("topology: the text of a topology file")
        read_topology(self.topology)

    def changed(self, **changes: Any) -> Settings:
        """The same with some values changed."""
        return replace(self, **changes)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class ConfigurationEntry:
    """An option of a service, as it counts now and as it would at the next start."""

    place: str
    "Table and key in a file."
    running: str
    file: str
    "Both as a file would say them; empty for what is off or has no value."
    is_default: bool
    "It counts as it would without a file and without options."
    needs_restart: bool
    "The file says something else, which counts from the next start on."
    reloads: bool
    "The file says something else, which counts after a reload."
    help: str

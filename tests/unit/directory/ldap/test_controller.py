from __future__ import annotations

import pytest

from openmsmq.directory.ldap.controller import Controller
from openmsmq.errors import InvalidParameter


def test_addresses_of_controllers() -> None:
    """MQDS-004: port 389 unless another is given."""
    assert Controller.parse("ldap://dc1") == ("dc1", 389, False)
    assert Controller.parse("ldaps://dc1/") == ("dc1", 636, True)
    assert str(Controller.parse("ldap://dc1:3389")) == "ldap://dc1:3389"
    for wrong in ("dc1", "http://dc1", "ldap://", "ldap://dc1/base", "ldap://dc1:x"):
        with pytest.raises(InvalidParameter):
            Controller.parse(wrong)

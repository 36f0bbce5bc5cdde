"""Makes remote calls with Samba's Python bindings.

`INTERFACE OPNUM HEX` comes, `HEX` or `! WHY` goes. Debian's own Python runs it, which has
`python3-samba`; nothing of OpenMSMQ is imported.
Usage: python3 samba_caller.py PORT OPTIONS [USER PASSWORD]
"""

import sys

from samba import NTSTATUSError, credentials, param
from samba.dcerpc import base, mgmt


def main() -> None:
    """Connect, say which interfaces there are, and call what is asked for."""
    port, options, *login = sys.argv[1:]
    settings = param.LoadParm()
    settings.load_default()
    known = credentials.Credentials()
    known.guess(settings)
    if login:
        user, password = login
        known.set_username(user)
        known.set_password(password)
        known.set_domain("WORKGROUP")
        known.set_kerberos_state(credentials.DONT_USE_KERBEROS)
    else:
        known.set_anonymous()
    place = f"ncacn_ip_tcp:127.0.0.1[{port}{',' + options if options else ''}]"
    # A connection of `base` with credentials crashes unless a known interface was bound before.
    first = mgmt.mgmt(place, settings, known)
    vector = first.inq_if_ids()
    _say(*(str(one.id.uuid) for one in vector.if_id))
    made = {}
    for line in sys.stdin:
        name, opnum, stub = line.split(" ")
        try:
            if name not in made:
                made[name] = base.ClientConnection(
                    place, (name, 1), settings, known, basis_connection=first
                )
            _say(made[name].request(int(opnum), bytes.fromhex(stub)).hex())
        except (NTSTATUSError, RuntimeError) as error:
            _say("!", str(error).replace("\n", " "))


def _say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""`python -m openmsmq` is the command `openmsmq`."""

from openmsmq.cli.main import main

main()

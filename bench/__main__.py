"""`make bench`: every benchmark there is, one after the other."""

from bench import (
    access,
    attack,
    cliffs,
    codec,
    console,
    core,
    crowd,
    distributed,
    hop,
    hot_path,
    http_transfer,
    latency,
    multicast,
    peers,
    pipelines,
    remote_read,
    service,
    sessions,
    singles,
    spark,
    transfer,
)

for table in (codec, core):
    for line in table.lines():
        print(line, flush=True)
    print()
for whole in (
    *(service, distributed, peers, hot_path, crowd, transfer, sessions, attack, spark, pipelines),
    *(hop, remote_read, http_transfer, multicast, singles, latency, access, cliffs, console),
):
    whole.main()
    print()

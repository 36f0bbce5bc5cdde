"""`make bench`: every benchmark there is, one after the other."""

from bench import codec, core, crowd, hot_path, peers, pipelines, service, sessions, transfer

for table in (codec, core):
    for line in table.lines():
        print(line, flush=True)
    print()
for whole in (service, peers, hot_path, crowd, transfer, sessions, pipelines):
    whole.main()
    print()

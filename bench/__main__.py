"""`make bench`: every benchmark there is, one after the other."""

from bench import codec, core

for table in (codec, core):
    for line in table.lines():
        print(line, flush=True)
    print()

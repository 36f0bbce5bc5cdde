"""`make bench`: every benchmark there is, one after the other."""

from bench import codec

for line in codec.lines():
    print(line)

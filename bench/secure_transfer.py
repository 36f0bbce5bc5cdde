"""Signed and encrypted messages from one manager to another, beside plain ones, 1 KiB bodies.

`python -m bench.secure_transfer [MESSAGES]`, 20,000 of each kind unless another number is given. As
in `bench.transfer` the messages wait in a queue that is paused: programs sign before that, and
encryption, decryption and verification are what is measured. The kinds take turns, so that each
round has plain messages beside the others; the medians of the ratios count. Beside the rate stands
the processor time of both managers for each message: together, and of the busier one.

Plain messages as large as the signed ones are measured, too: with what RSA, SHA-512 and AES alone
take that is the least that protected messages can take, whatever is written around it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import openmsmq
from bench.servers import free_port
from bench.transfer import BATCH, BODY, Manager, Transfer, processor
from openmsmq import Message, MessageSigner
from openmsmq.access.exchange_keys import OwnKeys, PeerKeyFile
from openmsmq.access.senders import SenderCertificates, make_certificate
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import EncryptionAlgorithm
from openmsmq.security.ciphers import BodyCipher
from openmsmq.security.x509 import decode_certificate
from openmsmq.types.pack import Packer

BAR = 0.3
"What signed, and signed and encrypted transfer reach of plain transfer."
ROUNDS = 4
REUSED = 600
"Seconds that MSMQ uses a session key."
SAME_SIZE = "plain, as large as signed"
PRIMITIVES = 2000
"Operations of the libraries that are timed."


def microseconds(work: Callable[[], object]) -> float:
    """Processor time of something small."""
    start = time.process_time()
    for _ in range(PRIMITIVES):
        work()
    return (time.process_time() - start) / PRIMITIVES * 1e6


def sealed(signer: MessageSigner) -> tuple[int, float, float]:
    """Bytes that a signature adds; microseconds that signature and body take in the libraries."""
    to = parse_format_name(r"DIRECT=OS:b\private$\q")
    message = Message(BODY, label="order", signer=signer)
    plain, signed = (
        Packer(UUID(int=1)).pack(one, to, message_id=1, sent_time=1, transactional=False)
        for one in (Message(BODY, label="order"), message)
    )
    security = PacketView(signed).security
    assert security is not None
    key = decode_certificate(security.sender_cert).key
    assert key is not None
    opener, signature = key.opener(), security.signature[::-1]
    assert opener(signature)
    cipher = BodyCipher(EncryptionAlgorithm.AES_256, bytes(32))
    encrypted = cipher.encrypt(BODY)
    verified = microseconds(lambda: opener(signature))
    hashed = microseconds(lambda: hashlib.sha512(BODY).digest())
    coded = microseconds(lambda: cipher.encrypt(BODY)) + microseconds(
        lambda: cipher.decrypt(encrypted)
    )
    return len(signed) - len(plain), verified + hashed, coded


def transfer(sender: Manager, receiver: Manager, message: Message, count: int) -> Transfer:
    """One run."""
    with openmsmq.connect(sender.address) as manager, openmsmq.connect(receiver.address) as there:
        queue = manager.open_queue(r"DIRECT=OS:b\private$\q")
        queue.pause()
        for _ in range(count // BATCH):
            queue.send_many([message] * BATCH)
        arrived = there.open_queue("q")
        before = [processor(one.pid) for one in (sender, receiver)]
        queue.resume()
        start = time.perf_counter()
        while arrived.info().messages < count:
            time.sleep(0.01 + (time.perf_counter() - start) / 20)  # to ask costs something, too
        seconds = time.perf_counter() - start
        while any(info.messages for info in manager.queues(everything=True)):
            time.sleep(0.2)
        after = [processor(one.pid) for one in (sender, receiver)]
        arrived.purge()
    worked = [(end - begin) / count * 1e6 for begin, end in zip(before, after, strict=True)]
    return Transfer(count / seconds, *worked)


def measured(signer: MessageSigner, lifetime: int, count: int) -> list[dict[str, Transfer]]:
    """Rounds with plain, signed and encrypted messages, with session keys of a lifetime."""
    folder = Path(tempfile.mkdtemp())
    ports = free_port(), free_port()
    near, far = folder / "a" / "data", folder / "b" / "data"
    SenderCertificates(far).register(signer.certificate, "user:bench")
    OwnKeys(far).create("aes")
    configuration = folder / "a.toml"
    configuration.write_text(
        f"[security]\nencrypt_direct = true\nsession_key_lifetime = {lifetime}\n"
    )
    options = ("--config", str(configuration))
    sender = Manager(folder, "a", ports[0], {"b": ports[1]}, options)
    receiver = Manager(folder, "b", ports[1], {"a": ports[0]})
    try:
        receiver.start()
        with openmsmq.connect(receiver.address) as manager:
            manager.create_queue("q")
            keys = OwnKeys(far).published().encode().hex()
            PeerKeyFile(near).add(UUID(manager.id), "b", keys)
        sender.start()
        kinds = {
            "plain": Message(BODY, label="order"),
            SAME_SIZE: Message(BODY + bytes(sealed(signer)[0]), label="order"),
            "signed": Message(BODY, label="order", signer=signer),
            "signed and encrypted": Message(BODY, label="order", signer=signer, encrypt=True),
        }
        transfer(sender, receiver, kinds["plain"], BATCH)  # the session is there, the code is warm
        part = count // ROUNDS
        return [
            {name: transfer(sender, receiver, one, part) for name, one in kinds.items()}
            for _ in range(ROUNDS)
        ]
    finally:
        sender.stop()
        receiver.stop()
        shutil.rmtree(folder)


def main(count: int = 20_000) -> None:
    """Measure with session keys that are used again, and with a key for each message."""
    signer = MessageSigner.from_pem(make_certificate("bench"))
    for lifetime, words in ((REUSED, "session keys used again"), (0, "a key for each message")):
        rounds = measured(signer, lifetime, count)
        print(f"recoverable, 1 KiB, RSA 2048, AES-256, {words}; load {os.getloadavg()[0]:.1f}")
        print(f"  {'':<24}{'rate':>12}{'of plain':>10}{'CPU':>17}{'of plain':>10}{'busier':>8}")
        for name in rounds[0]:
            runs = [(one[name], one["plain"]) for one in rounds]
            rate, sender, receiver = (
                statistics.median(run[part] for run, _ in runs) for part in range(3)
            )
            shares = [
                statistics.median(run.rate / plain.rate for run, plain in runs),
                statistics.median(sum(plain[1:]) / sum(run[1:]) for run, plain in runs),
                statistics.median(max(plain[1:]) / max(run[1:]) for run, plain in runs),
            ]
            word = "" if min(shares) >= BAR else f"  below {BAR}"
            print(
                f"  {name:<24}{rate:>10,.0f}/s{shares[0]:>9.2f}x"
                f"{sender:>7.1f}{receiver:>7.1f} us{shares[1]:>9.2f}x{shares[2]:>7.2f}x{word}",
                flush=True,
            )
        _, checked, coded = sealed(signer)
        sizes = [(sum(one["plain"][1:]), sum(one[SAME_SIZE][1:])) for one in rounds]
        least = [
            statistics.median(plain / (same + added) for plain, same in sizes)
            for added in (checked, checked + coded)
        ]
        print(
            f"  at most, by RSA and SHA-512 ({checked:.1f} us) and AES ({coded:.1f} us) on both"
            f" ends together: signed {least[0]:.2f}x, signed and encrypted {least[1]:.2f}x"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)

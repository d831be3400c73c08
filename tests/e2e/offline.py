"""Runs inside a fresh network namespace (see cli_test.py): proves there is no network, then generates and serves."""
import fcntl
import socket
import struct

import program


def raise_loopback():
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def main():
    raise_loopback()
    names = [name for _, name in socket.if_nameindex()]
    assert names == ["lo"], names
    question = "What is the capital of France?"
    done = program.run("generate", "-p", question)
    assert done.returncode == 0 and "Paris" in done.stdout, done
    with program.server() as port:
        chunks = program.stream(port, {"messages": [{"role": "user", "content": question}]})
        assert "Paris" in program.streamed_text(chunks), chunks
    print("answered offline")


main()

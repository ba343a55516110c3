#!/usr/bin/env python3
"""Listens to a multicast group beside the peers, and tells what data it heard.

Usage: bystander.py GROUP PORT. Prints {"listening": true}, then, at the end of its standard input, {"heard": n}: the
number of RTPS messages from writers of applications. A publisher that sends by unicast is not heard.
"""

import json
import selectors
import socket
import struct
import sys

DATA, DATA_FRAG = 0x15, 0x16
USER_WRITERS = {0x02, 0x03}
"""Last octet of the entity id of a keyed or unkeyed writer of an application (RTPS 9.3.1.2)."""


def holds_user_data(message):
    """Whether a message has a DATA or DATA_FRAG of a writer that is not built in."""
    if message[:4] != b"RTPS":
        return False
    at = 20
    while at + 4 <= len(message):
        kind, flags = message[at], message[at + 1]
        order = "<" if flags & 1 else ">"
        (length,) = struct.unpack_from(order + "H", message, at + 2)
        body = message[at + 4 : at + 4 + length if length else len(message)]
        if kind in (DATA, DATA_FRAG) and len(body) >= 12 and body[11] in USER_WRITERS:
            return True
        at += 4 + len(body)
    return False


def main():
    """Listens until the end of the input."""
    group, port = sys.argv[1], int(sys.argv[2])
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((group, port))
    membership = struct.pack("4s4s", socket.inet_aton(group), socket.inet_aton("127.0.0.1"))
    listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    print(json.dumps({"listening": True}), flush=True)
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    ready.register(sys.stdin, selectors.EVENT_READ)
    heard = 0
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                heard += holds_user_data(listener.recv(65536))
            elif not sys.stdin.readline():
                print(json.dumps({"heard": heard}), flush=True)
                return


if __name__ == "__main__":
    main()

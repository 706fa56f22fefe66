"""Bytes of formats that no tool at hand writes, and code that makes samples or edits them."""

from __future__ import annotations

import struct

__all__ = [
    "ADD_TO_ZIP",
    "DATAGRAM",
    "DEFLATED",
    "RIGHT_IP",
    "SERVER",
    "ZIP",
    "gltf",
    "midi",
    "pcap",
    "quake_pak",
    "stl",
]

DATAGRAM = (
    "import dpkt; u = dpkt.udp.UDP(sport=5000, dport=5001, data=b'hello', ulen=13); "
    "ip = dpkt.ip.IP(src=bytes([10, 0, 0, 1]), dst=bytes([10, 0, 0, 2]), p=17, ttl=64, len=33, data=bytes(u))"
)
RIGHT_IP = (
    "assert dpkt.in_cksum(bytes(ip)[:20]) == 0; assert ip.len == 20 + len(ip.data) == 20 + ip.data.ulen"
)
SERVER = """
import ssl
hello = open(f, 'rb').read()
hello = b'\\1' + len(hello).to_bytes(3, 'big') + hello
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('c.pem', 'k.pem')
context.sni_callback = lambda _, name, __: print(name)
given, made = ssl.MemoryBIO(), ssl.MemoryBIO()
given.write(b'\\x16\\3\\1' + len(hello).to_bytes(2, 'big') + hello)
server = context.wrap_bio(given, made, server_side=True)
try:
    server.do_handshake()
except ssl.SSLWantReadError:
    assert made.read()[:1] == b'\\x16'
"""
ZIP = """
import zipfile, sys
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("one.txt", "hello one")
    z.writestr("two.txt", "x" * 1000, zipfile.ZIP_DEFLATED)
    z.writestr("three.txt", "three")
"""
ADD_TO_ZIP = """
new = m.PkSection(section_type=0x403, body=m.LocalFile(body=b"new content", header=m.LocalFileHeader(
    version=20, flags=copy(x.sections[0].body.header.flags), compression_method=0,
    file_mod_time=x.sections[0].body.header.file_mod_time, file_name="new.txt", extra=m.Extras(entries=[]))))
entry = m.CentralDirEntry(version_made_by=20, version_needed_to_extract=20, flags=0, compression_method=0,
    file_mod_time=x.sections[0].body.header.file_mod_time, disk_number_start=0, int_file_attr=0,
    ext_file_attr=0, file_name="new.txt", extra=m.Extras(entries=[]), comment="")
entry.local_header = new
x.sections.insert(3, new)
x.sections.insert(-1, m.PkSection(section_type=0x201, body=entry))
"""
DEFLATED = """
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
body = packer.compress(b"other content" * 9) + packer.flush()
"""


def pcap() -> bytes:
    """Two pings and a datagram, as Ethernet frames."""

    def frame(protocol: int, body: bytes) -> bytes:
        head = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0, b"\x0a\0\0\1", b"\x0a\0\0\2"
        )
        total = sum(struct.unpack(">10H", head))
        head = head[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
        data = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + head + body
        return struct.pack("<IIII", 1_700_000_000, 0, len(data), len(data)) + data

    def ping(data: bytes) -> bytes:
        body = struct.pack(">BBHHH", 8, 0, 0, 7, 1) + data
        total = sum(struct.unpack(f">{len(body) // 2}H", body))
        total = (total & 0xFFFF) + (total >> 16)
        return body[:2] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + body[4:]

    datagram = struct.pack(">HHHH", 5000, 5001, 12, 0) + b"data"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + frame(1, ping(b"abcdefgh")) + frame(17, datagram) + frame(1, ping(b"12345678"))


def midi() -> bytes:
    events = b"\0\xff\x03\x05title" + b"\0\x90\x3c\x40" + b"\x60\x80\x3c\x40" + b"\0\xff\x2f\0"
    track = b"MTrk" + struct.pack(">I", len(events)) + events
    return b"MThd" + struct.pack(">IHHH", 6, 1, 2, 96) + track + track


def quake_pak() -> bytes:
    first, second = b"hello", b"second file"
    table = struct.pack("<56sII", b"one.txt", 12, len(first)) + struct.pack(
        "<56sII", b"two.txt", 17, len(second)
    )
    return b"PACK" + struct.pack("<II", 12 + len(first) + len(second), len(table)) + first + second + table


def stl() -> bytes:
    triangle = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
    return b"a solid".ljust(80, b"\0") + struct.pack("<I", 2) + triangle * 2


def gltf() -> bytes:
    text = b'{"asset": {"version": "2.0"}}'
    text += b" " * (-len(text) % 4)
    return b"glTF" + struct.pack("<III4s", 2, 20 + len(text), len(text), b"JSON") + text

"""Each schema of this folder: an object is made, written, read, changed and written again."""

from formats.chunks import Chunk, Chunks, Head, Text
from formats.orders import Codecs, Content, Created, Event, Kinds, Moved, Orders, Payload
from formats.pack import Pack, Section
from formats.shift import Shift
from formats.telemetry import Gps, Modes, Sample, Telemetry


def orders() -> tuple[bytes, bytes]:
    events = [Event(kind=Kinds.CREATED, body=Created("book")), Event(kind=Kinds.MOVED, body=Moved(3, -4))]
    made = Orders(events=events, content=Content(body=Payload("by hand"))).to_bytes()
    read = Orders.from_bytes(made)
    read.events[0].body.name = "a longer book"  # lengths and the checksum follow
    del read.events[1]
    return made, read.to_bytes()


def pack() -> tuple[bytes, bytes]:
    sections = [Section("one", None, None), Section("two", None, None)]
    made = Pack(version=1, num_sections=None, sections=sections)
    made.sections[0].body = b"first section"
    made.sections[1].body = b"second"
    data = made.to_bytes()
    read = Pack.from_bytes(data)
    read.sections[0].body += b", which has grown"  # the second one moves
    return data, read.to_bytes()


def shift() -> tuple[bytes, bytes]:
    made = Shift(version=2, name="night", replicas=[1, 2, 3], rack="r7").to_bytes()
    read = Shift.from_bytes(made)
    read.version, read.rack = 1, ""  # version 1 has no tagged fields
    read.replicas = None
    return made, read.to_bytes()


def telemetry() -> tuple[bytes, bytes]:
    made = Telemetry(
        vehicle=700, has_gps=None, mode=Modes.CRUISE, seq_flags=2, checksum=None, num_samples=None,
        gps=Gps(-5, 6), samples=[Sample(1, 0x234), Sample(5, 0x678)],
    ).to_bytes()  # fmt: skip
    read = Telemetry.from_bytes(made)
    read.gps = None  # has_gps becomes false
    read.samples.append(Sample(9, 1))
    return made, read.to_bytes()


def chunks() -> tuple[bytes, bytes]:
    made = Chunks([Chunk("HEAD", Head(640, 480), None), Chunk("TEXT", Text("hello"), None)]).to_bytes()
    read = Chunks.from_bytes(made)
    read.chunks[1].body.value = "hello, world"
    read.chunks.append(Chunk("OTHR", b"\1\2", None))
    return made, read.to_bytes()


def compressed() -> str:
    made = Orders(content=Content(codec=Codecs.GZIP, body=Payload("by hand")))
    read = Orders.from_bytes(made.to_bytes())
    return read.content.body.note


for name, example in {
    "orders": orders,
    "pack": pack,
    "shift": shift,
    "telemetry": telemetry,
    "chunks": chunks,
}.items():
    for state, data in zip(("made", "changed"), example(), strict=True):
        print(name, state, data.hex())
print("compressed", compressed())

"""The formats of the lab, by the path of their schema in the gallery."""

# ruff: noqa: E501  (an edit on one line is easier to read)

from __future__ import annotations

import struct
import sys

from tests.labs.edits.case import Case, needs, shell
from tests.labs.edits.more_cases import MORE
from tests.labs.edits.tools import changed, code, put, python

__all__ = ["CASES"]

# -- archives -------------------------------------------------------------------------------------------

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
# -- what hosts send ------------------------------------------------------------------------------------


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


# -- music ----------------------------------------------------------------------------------------------


def midi() -> bytes:
    events = b"\0\xff\x03\x05title" + b"\0\x90\x3c\x40" + b"\x60\x80\x3c\x40" + b"\0\xff\x2f\0"
    track = b"MTrk" + struct.pack(">I", len(events)) + events
    return b"MThd" + struct.pack(">IHHH", 6, 1, 2, 96) + track + track


CASES: dict[str, Case] = {
    "image/png": Case(
        "png",
        shell("convert -size 20x20 xc:red -set comment hello {}", "convert", "pngcheck"),
        "pngcheck -v -t {}",
        {
            "a longer text": (code("[c for c in x.chunks if c.type == 'tEXt'][0].body.text = 'a longer text'"), "a longer text"),
            "a chunk added": (code("x.chunks.insert(1, m.Chunk(type_raw=b'tEXt', body=m.TextChunk(keyword='Title', text='new')))"), "Title"),
            "a chunk removed": (code("x.chunks.remove([c for c in x.chunks if c.type == 'tEXt'][0])"), ""),
            "the width changed, which makes too few pixels": (changed("ihdr.width", 10), ""),
        },
    ),
    "image/gif": Case(
        "gif",
        shell("convert -size 20x20 xc:red -set comment hello -dispose none -delay 10 xc:blue {}", "convert", "gifsicle"),
        "gifsicle --info --color-info {}",
        {
            "a longer comment": (code("c = [b for b in x.blocks if b.block_type == 0x21 and b.body.label == 0xfe][0]\nc.body.body.entries[0].bytes_ = b'a longer comment'"), "a longer comment"),
            "a comment added": (code("x.blocks.insert(0, m.Block(block_type=0x21, body=m.Extension(label=0xfe, body=m.Subblocks(entries=[m.Subblock(bytes_=b'new'), m.Subblock(bytes_=b'')]))))"), "new"),
            "a comment removed": (code("x.blocks.remove([b for b in x.blocks if b.block_type == 0x21 and b.body.label == 0xfe][0])"), ""),
        },
        complains=("error", "warning"),
    ),
    "image/bmp": Case(
        "bmp",
        shell("convert -size 20x20 gradient:red-blue -colors 20 -type palette a.gif && ffmpeg -v error -i a.gif -pix_fmt pal8 {}", "convert", "identify"),
        "identify -verbose {}",
        {
            "colors removed": (code("t = x.dib_info.color_table.colors\ndel t[200:]\nx.dib_info.header.bitmap_info_ext.num_colors_used = len(t)"), ""),
            "a color changed": (code("x.dib_info.color_table.colors[0].red = 1"), ""),
        },
        complains=("corrupt", "insufficient"),
    ),
    "image/ico": Case(
        "ico",
        shell("convert -size 16x16 xc:red a.png && convert -size 32x32 xc:blue b.png && icotool -c -o {} a.png b.png", "convert", "icotool"),
        python("from PIL import Image; i = Image.open(f); print(sorted(i.ico.sizes()), [i.ico.frame(n).load() for n in range(len(i.ico.entry))])") + " && identify {}",
        {
            "a longer image": (code("import subprocess\nx.images[0].img = x.images[1].img\nx.images[0].width = x.images[0].height = 32"), "(32, 32)"),
            "an image added": (code("e = m.IcoDirEntry if hasattr(m, 'IcoDirEntry') else m.IconDirEntry\no = x.images[1]\nn = e(width=32, height=32, num_colors=o.num_colors, num_planes=o.num_planes, bpp=o.bpp)\nn.img = o.img\nx.images.append(n)"), "edited.ico[2]"),
            "an image removed": (code("x.images.pop()"), "(16, 16)"),
        },
    ),
    "image/tga": Case(
        "tga",
        shell("convert -size 20x20 xc:red {}", "convert", "identify"),
        "identify -verbose {}",
        {"a longer identification": (changed("image_id", b"a longer identification"), "a longer identification")},
    ),
    "image/jpeg": Case(
        "jpg",
        shell("convert -size 20x20 xc:red -set comment hello {}", "convert", "identify"),
        "identify -regard-warnings -verbose {} && exiftool {}",
        {
            "a longer comment": (code("s = [s for s in x.segments if s.marker == 0xfe][0]\ns.data = b'a longer comment'"), "a longer comment"),
            "a comment added": (code("x.segments.insert(2, m.Segment(magic=b'\\xff', marker=0xfe, data=b'new comment'))"), "new comment"),
            "a comment removed": (code("x.segments.remove([s for s in x.segments if s.marker == 0xfe][0])"), ""),
        },
    ),
    "media/wav": Case(
        "wav",
        shell("sox -n -r 8000 -b 16 -c 1 {} synth 0.1 sine 440", "sox", "ffprobe"),
        "ffprobe -v error -show_format {} && soxi {}",
        {
            "more samples": (code("d = [c for c in x.subchunks if c.chunk.id == 0x61746164][0].chunk_data\nd.data += bytes(1600)"), "1600 samples"),
            "fewer samples": (code("d = [c for c in x.subchunks if c.chunk.id == 0x61746164][0].chunk_data\nd.data = d.data[: len(d.data) // 2]"), "400 samples"),
        },
        complains=("rror", "WARN"),
    ),
    "media/avi": Case(
        "avi",
        shell("ffmpeg -v error -f lavfi -i color=red:size=32x32:rate=10:duration=1 -c:v mjpeg {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -count_frames -show_streams -show_format {}",
        {
            "an unknown block added": (code("x.data.entries.append(m.Block(four_cc=0x4b4e554a, data=b'some junk.'))"), "nb_read_frames=10"),
            "a longer encoder name": (code("i = [e for e in x.data.entries if getattr(e.data, 'list_type', 0) == 0x4f464e49][0]\ni.data.data.entries[0].data = b'a longer name\\0'"), "a longer name"),
        },
        complains=("rror",),
    ),
    "media/au": Case(
        "au",
        shell("sox -n -r 8000 -b 16 -c 1 --comment hello {} synth 0.1 sine 440", "sox", "soxi"),
        "soxi {}",
        {
            "a longer comment": (code("x.header.comment = 'a much longer comment than before'"), "a much longer comment"),
        },
        complains=("WARN", "FAIL"),
    ),
    "media/creative_voice_file": Case(
        "voc",
        shell("sox -n -r 8000 -b 8 -c 1 -e unsigned-integer {} synth 0.1 sine 440", "sox", "soxi"),
        "soxi {} && sox {} -n stat",
        {
            "more samples": (code("b = x.blocks[0]\nb.body.wave += bytes([128]) * 800"), "1600"),
            "a block added": (code("x.blocks.insert(1, m.Block(block_type=5, body=b'a comment\\0'))"), ""),
            "a block removed": (code("x.blocks.insert(1, m.Block(block_type=5, body=b'a comment\\0'))\nx = m.CreativeVoiceFile.from_bytes(x.to_bytes())\nx.blocks.pop(1)\nx.blocks[0].body.wave = x.blocks[0].body.wave[:-8]"), ""),
        },
        complains=("FAIL",),
    ),
    "media/ogg": Case(
        "ogg",
        shell("sox -n -r 8000 -b 16 -c 1 a.wav synth 0.2 sine 440 && oggenc -q 0 -c TITLE=hello -o {} a.wav", "sox", "oggenc", "ogginfo"),
        "ogginfo {} && ffprobe -v error -show_format -show_streams {}",
        {
            "a longer title": (code("s = x.pages[1].segments[0]\nold = struct.pack('<I', 11) + b'TITLE=hello'\nnew = struct.pack('<I', 18) + b'TITLE=hello, world'\nassert old in s\nx.pages[1].segments[0] = s.replace(old, new)"), "hello, world"),
            "a page removed, and the one behind it changed": (code("last = x.pages[-1]\nlast.granule_pos += 1"), ""),
        },
        complains=("rror", "WARNING"),
    ),
    "media/standard_midi_file": Case(
        "mid",
        put(midi),
        python("import mido; t = mido.MidiFile(f); print(len(t.tracks), t)"),
        {
            "a longer title": (code("x.tracks[0].events.event[0].meta_event_body.body = b'long' * 60"), "long" * 60),
            "a track added": (code("x.tracks.append(copy(x.tracks[0]))"), "3 MidiFile"),
            "a track removed": (code("x.tracks.pop()"), "1 MidiFile"),
            "an event added": (code("e = x.tracks[0].events.event\ne.insert(1, copy(e[1]))"), ""),
        },
    ),
    "media/vp8_duck_ivf": Case(
        "ivf",
        shell("ffmpeg -v error -f lavfi -i color=red:size=32x32:rate=10:duration=1 -c:v libvpx {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -count_frames -show_streams {}",
        {
            "the last frame removed": (code("x.image_data.pop()"), "nb_read_frames=9"),
            "a frame repeated": (code("x.image_data.append(copy(x.image_data[-1]))"), "nb_read_frames=11"),
        },
        complains=("rror",),
    ),
    "archive/zip": Case(
        "zip",
        lambda file: (needs("unzip"), shell(f"{sys.executable} -c '{ZIP}' {{}}")(file))[1],
        "unzip -t {} && unzip -p {}",
        {
            "a stored file longer": (changed("sections[0].body.body", b"a much longer content"), "a much longer content"),
            "a deflated file replaced": (code(DEFLATED + "x.sections[1].body.body = body"), "other content"),
            "a file added": (code(ADD_TO_ZIP), "new content"),
            "a file removed": (code("del x.sections[1]\nx.sections.remove([s for s in x.sections if s.section_type == 0x201][1])"), "three"),
            "a file renamed": (code("x.sections[2].body.header.file_name = 'a/longer/name.txt'\n[s for s in x.sections if s.section_type == 0x201][2].body.file_name = 'a/longer/name.txt'"), "a/longer/name.txt"),
        },
    ),
    "archive/gzip": Case(
        "gz",
        shell("printf hello > a.txt && gzip -c a.txt > {}", "gzip"),
        "gzip -tv {} && gzip -dc {} && gzip -lv {} && file {}",
        {
            "the content replaced": (code(DEFLATED + "x.body = body"), "other content"),
            "a longer name": (changed("name", b"a-longer-name.txt"), "a-longer-name.txt"),
            "a comment added": (changed("comment", b"a comment"), "has comment"),
            "the name removed": (changed("name", None), "hello"),
        },
        complains=("corrupt", "crc error", "invalid", "unexpected"),
    ),
    "archive/cpio_old_le": Case(
        "cpio",
        shell("printf hello > a.txt && printf two > bb.txt && printf 'a.txt\\nbb.txt\\n' | cpio -o -H bin > {}", "cpio"),
        "cpio -itv < {} && cpio -i --to-stdout < {}",
        {
            "a longer file": (changed("files[0].file_data", b"a longer content!"), "a longer content!"),
            "a longer name": (changed("files[0].path_name", b"a-longer-name.txt"), "a-longer-name.txt"),
            "a file added": (code("f = copy(x.files[0])\nf.header = copy(f.header)\nf.header.file_size = copy(f.header.file_size)\nf.path_name, f.file_data = b'new.txt', b'new content'\nx.files.insert(1, f)"), "new content"),
            "a file removed": (code("del x.files[0]"), "bb.txt"),
        },
        complains=("rror", "premature", "junk"),
    ),
    "network/pcap": Case(
        "pcap",
        put(pcap, "tcpdump"),
        "tcpdump -r {} -n -vv -X",
        {
            "a longer ping": (changed("packets[0].body.body.body.body.echo.data", b"ping" * 20), "length 88"),
            "a longer datagram": (changed("packets[1].body.body.body.body.body", b"a longer datagram"), "length 17"),
            "a packet added": (code("x.packets.append(copy(x.packets[0]))"), ""),
            "a packet removed": (code("del x.packets[1]"), ""),
        },
        complains=("bad cksum", "truncated", "wrong icmp"),
    ),
    "executable/elf": Case(
        "elf",
        shell("printf 'int main(void) { return 0; }' > a.c && gcc -o {} a.c", "gcc", "readelf"),
        "readelf --all --wide {} && readelf -p .comment {} && chmod +x {} && {}",
        {
            "a longer comment": (code("s = [s for s in x.header.section_headers if s.name == '.comment'][0]\ns.body = b'a longer comment than before ' * 3 + b'\\0'"), "a longer comment"),
        },
        complains=("rror:", "arning:"),
    ),
    "filesystem/gpt_partition_table": Case(
        "img",
        shell("truncate -s 4M {} && sgdisk -n 1:0:+1M -c 1:one -n 2:0:0 -c 2:two {}", "sgdisk"),
        "sgdisk -v -p -i 1 {} && sgdisk -i 2 {}",
        {
            "a longer name": (code("for h in (x.primary, x.backup): h.entries[0].name = 'a longer name'.ljust(36, '\\0')"), "a longer name"),
            "a partition removed": (code("for h in (x.primary, x.backup):\n    e = h.entries[1]\n    e.type_guid, e.guid, e.first_lba, e.last_lba, e.name = bytes(16), bytes(16), 0, 0, '\\0' * 36"), "does not exist"),
        },
        complains=("Problem", "corrupt", "CRC"),
    ),
    "filesystem/mbr_partition_table": Case(
        "img",
        shell("truncate -s 4M {} && printf 'start=2048, size=2048, type=83\\n' | sfdisk {}", "sfdisk"),
        "sfdisk -d {} && sfdisk -V {}",
        {
            "a partition added": (code("p = x.partitions[1]\np.partition_type, p.lba_start, p.num_sectors = 0x82, 4096, 1024"), "start=        4096"),
            "a partition removed": (code("p = x.partitions[0]\np.partition_type = p.lba_start = p.num_sectors = 0"), ""),
        },
    ),
    "firmware/uimage": Case(
        "img",
        shell("printf data > a && mkimage -A arm -O linux -T kernel -C none -n hello -d a {}", "mkimage"),
        "mkimage -l {}",
        {
            "a longer name": (changed("header.name", "a longer name"), "a longer name"),
            "more data": (changed("data", b"much more data"), "14 Bytes"),
        },
        complains=("orrupt", "Bad"),
    ),
    "hardware/dtb": Case(
        "dtb",
        shell("""printf '/dts-v1/; / { model = "hello"; a { x = <1>; }; };' | dtc -O dtb -o {}""", "dtc"),
        "dtc -I dtb -O dts {}",
        {
            "a longer property": (code("p = x.structure_block.nodes[1].body\np.property_ = b'a longer model\\0'\np.padding = bytes(-len(p.property_) % 4)"), "a longer model"),
            "a property removed": (code("del x.structure_block.nodes[1]"), ""),
        },
        complains=("ERROR", "FATAL"),
    ),
    "database/gettext_mo": Case(
        "mo",
        shell("""printf 'msgid ""\\nmsgstr "Content-Type: text/plain; charset=UTF-8\\\\n"\\n\\nmsgid "one"\\nmsgstr "eins"\\n\\nmsgid "two"\\nmsgstr "zwei"\\n' > a.po && msgfmt -o {} a.po""", "msgfmt", "msgunfmt"),
        "msgunfmt {}",
        {
            "a longer translation": (code("x.mo.translations[1].str_ = 'eine'"), "eine"),
            "a much longer translation": (code("x.mo.translations[2].str_ = 'viel laenger als vorher'"), "viel laenger"),
        },
    ),
    "database/dbf": Case(
        "dbf",
        shell("dbfcreate {} -s NAME 10 -n N 5 0 && dbfadd {} hello 1 && dbfadd {} world 2", "dbfcreate", "dbfadd", "dbfdump"),
        "dbfdump -h {}",
        {
            "a record added": (code("r = copy(x.records[0])\nr.record_fields = [b'new'.ljust(10), b'    3']\nx.records.append(r)"), "new"),
            "a record removed": (code("x.records.pop()"), "hello"),
        },
    ),
    "database/sqlite3": Case(
        "db",
        shell("sqlite3 {} \"create table t (a text); insert into t values ('hello'), ('world');\"", "sqlite3"),
        "sqlite3 {} 'pragma integrity_check; pragma user_version; select * from t'",
        {
            "the user version": (changed("user_version", 12345), "12345"),
        },
        complains=("***", "malformed"),
    ),
    **MORE,
}  # fmt: skip

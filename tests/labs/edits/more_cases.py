"""Further formats of the lab: serializations, keys, fonts, programs, disks, logs."""

# ruff: noqa: E501  (an edit on one line is easier to read)

from __future__ import annotations

import struct
import sys
from pathlib import Path

from tests.labs.edits.case import Case, needs, shell
from tests.labs.edits.tools import changed, code, made_by, put, python

__all__ = ["MORE"]


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


MORE: dict[str, Case] = {
    "serialization/bson": Case(
        "bson",
        made_by("import bson; open(f, 'wb').write(bson.encode({'a': 'hello', 'b': {'c': 1}, 'd': [1, 2]}))"),
        python("import bson; print(bson.decode(open(f, 'rb').read()))"),
        {
            "a longer string": (changed("fields.elements[0].content.str_", "a longer text"), "a longer text"),
            "an element added": (code("e = x.fields.elements\ne.append(m.Element(type_byte=e[0].type_byte, name=m.Cstring(str_='new'), content=m.String(str_='value')))"), "'new': 'value'"),
            "an element removed": (code("del x.fields.elements[0]"), "{'b'"),
            "an inner element added": (code("e = x.fields.elements[1].content.fields.elements\ne.append(m.Element(type_byte=e[0].type_byte, name=m.Cstring(str_='new'), content=7))"), "'new': 7"),
        },
    ),
    "serialization/msgpack": Case(
        "msgpack",
        made_by("import msgpack; open(f, 'wb').write(msgpack.packb({'a': 'hello', 'b': [1, 2]}))"),
        python("import msgpack; print(msgpack.unpackb(open(f, 'rb').read()))"),
        {
            "a longer string": (changed("map_elements[0].value.str_value", "a longer text"), "a longer text"),
            "an element added": (code("x.map_elements.append(copy(x.map_elements[0]))\nx.map_elements[2].key = m.Msgpack(b1=0xa3, str_value='new')"), "'new'"),
            "an element removed": (code("x.map_elements.pop()"), "{'a': 'hello'}"),
            "an element of the array added": (code("x.map_elements[1].value.array_elements.append(m.Msgpack(b1=7))"), "[1, 2, 7]"),
        },
    ),
    "serialization/asn1/asn1_der": Case(
        "der",
        shell("printf 'asn1=SEQUENCE:s\\n[s]\\na=UTF8:hello\\nb=INTEGER:7\\n' > a && openssl asn1parse -genconf a -noout -out {}", "openssl"),
        "openssl asn1parse -inform DER -in {}",
        {
            "a longer string": (changed("body.entries[0].body.str_", "a longer text"), "a longer text"),
            "an element added": (code("x.body.entries.append(copy(x.body.entries[0]))"), ""),
            "an element removed": (code("x.body.entries.pop(0)"), "INTEGER"),
        },
    ),
    "serialization/google_protobuf": Case(
        "pb",
        put(lambda: b"\x08\x96\x01\x12\x05hello", "protoc"),
        "protoc --decode_raw < {}",
        {
            "a longer string": (changed("pairs[1].value.body", b"a longer text"), "a longer text"),
            "a pair added": (code("x.pairs.append(copy(x.pairs[1]))"), ""),
            "a pair removed": (code("x.pairs.pop(0)"), "hello"),
        },
    ),
    "serialization/python_pickle": Case(
        "pickle",
        made_by("import pickle; pickle.dump({'a': 'hello', 'b': 1}, open(f, 'wb'), 4)"),
        python("import pickle; print(pickle.load(open(f, 'rb')))"),
        {
            "a longer string": (code("o = [o for o in x.ops if getattr(o.arg, 'val', None) == 'hello'][0]\no.arg.val = 'a longer text'\nf = [o for o in x.ops if o.code == 0x95]\nf[0].arg += 8"), "a longer text"),
        },
    ),
    "serialization/php_serialized_value": Case(
        "php",
        shell("php -r 'echo serialize([\"a\" => \"hello\", \"b\" => 1]);' > {}", "php"),
        "php -r 'var_dump(unserialize(file_get_contents(\"{}\")) ?: exit(1));'",
        {
            "a longer string": (changed("contents.elements.entries[0].value.contents.string.data", b"a longer text"), "a longer text"),
            "an element removed": (code("x.contents.elements.entries.pop()"), "hello"),
        },
        complains=("rror",),
    ),
    "serialization/ruby_marshal": Case(
        "marshal",
        shell("ruby -e 'File.binwrite(\"{}\", Marshal.dump([\"hello\", 7]))'", "ruby"),
        "ruby -e 'p Marshal.load(File.binread(\"{}\"))'",
        {"an element removed": (code("x.records.body.elements.pop()"), "hello")},
    ),
    "security/ssh_public_key": Case(
        "ssh",
        shell("ssh-keygen -q -t ed25519 -N '' -f k && cut -d' ' -f2 k.pub | base64 -d > {}", "ssh-keygen"),
        "(printf 'ssh-ed25519 '; base64 -w0 {}; echo) > k2.pub && ssh-keygen -lf k2.pub",
        {"another key": (changed("body.pk", lambda pk: bytes(32)), "256 SHA256")},
    ),
    "security/openpgp_message": Case(
        "pgp",
        shell("export GNUPGHOME=$PWD/g; mkdir -m 700 g && gpg -q --batch --passphrase '' --quick-gen-key 'hello <a@b.c>' rsa1024 && gpg -q --export > {}", "gpg"),
        "gpg --list-packets {}",
        {
            "a longer user": (code("p = [p for p in x.packets if type(p.body.body).__name__ == 'UserIdPacket'][0]\np.body.body.user_id = 'a longer name <a@b.c>'"), "a longer name"),
            "a packet removed": (code("x.packets.pop()"), ""),
        },
    ),
    "network/dns_packet": Case(
        "dns",
        made_by("import dns.message, dns.rrset; q = dns.message.make_query('a.example', 'TXT'); r = dns.message.make_response(q); r.answer.append(dns.rrset.from_text('a.example.', 60, 'IN', 'TXT', 'hello')); open(f, 'wb').write(r.to_wire())"),
        python("import dns.message; print(dns.message.from_wire(open(f, 'rb').read()))"),
        {
            "a longer text": (changed("answers[0].payload.data[0].text", "a longer text"), "a longer text"),
            "an answer added": (code("x.answers.append(copy(x.answers[0]))"), ""),
            "an answer removed": (code("x.answers.pop()"), "QUESTION"),
        },
    ),
    "executable/java_class": Case(
        "class",
        shell("printf 'class A { int a; int b() { return 1; } }' > A.java && javac A.java && cp A.class {}", "javac", "javap"),
        "cp {} A.class && javap -v -p -cp . A",
        {
            "a longer name of a method": (code("u = [c.cp_info for c in x.constant_pool if type(c.cp_info).__name__ == 'Utf8CpInfo' and c.cp_info.value == 'b'][0]\nu.value = 'aLongerName'"), "aLongerName"),
            "a constant added": (code("u = [c for c in x.constant_pool if type(c.cp_info).__name__ == 'Utf8CpInfo'][0]\nn = copy(u)\nn.cp_info = m.Utf8CpInfo(value='new constant')\nx.constant_pool.append(n)"), "new constant"),
            "a field removed": (code("x.fields.pop()"), "int b()"),
        },
    ),
    "font/ttf": Case(
        "ttf",
        lambda file: (needs("fc-query"), file.write_bytes(next(Path("/usr/share/fonts").rglob("*.ttf")).read_bytes()))[0],
        python("from fontTools.ttLib import TTFont; t = TTFont(f, checkChecksums=2); print(t[\"name\"].getDebugName(1)); [t[k] for k in t.keys()]") + " && fc-query {}",
        {
            "a table removed": (code("e = x.directory_table\ne.remove([t for t in e if t.tag == 'GPOS'][0]) if any(t.tag == 'GPOS' for t in e) else e.remove([t for t in e if t.tag == 'kern'][0])"), ""),
        },
    ),
    "log/glibc_utmp": Case(
        "utmp",
        shell("printf '[7] [00123] [ts/0] [alice   ] [pts/0       ] [host                ] [10.0.0.1       ] [2026-01-01T00:00:00,000000+00:00]\\n' | tee a | utmpdump -r > b && cat b b > {}", "utmpdump"),
        "utmpdump {}",
        {
            "a longer user": (changed("records[0].user", "a-longer-user".ljust(32, "\0")), "a-longer-user"),
            "a record added": (code("x.records.append(copy(x.records[0]))"), ""),
            "a record removed": (code("x.records.pop()"), "alice"),
        },
    ),
    "game/quake_pak": Case(
        "pak",
        put(quake_pak),
        python("import struct; d = open(f, \"rb\").read(); o, n = struct.unpack(\"<II\", d[4:12]); assert d[:4] == b\"PACK\" and o + n <= len(d); [print(d[o + i:o + i + 56].rstrip(bytes(1)), (lambda a, b: d[a:a + b])(*struct.unpack(\"<II\", d[o + i + 56:o + i + 64]))) for i in range(0, n, 64)]"),
        {
            "a longer file": (changed("index.entries[0].body", b"a longer content"), "a longer content"),
            "a file removed": (code("x.index.entries.pop()"), "hello"),
        },
    ),
    "media/stl": Case(
        "stl",
        put(stl),
        python("from stl import mesh; t = mesh.Mesh.from_file(f); print(len(t.vectors), t.name)"),
        {
            "a triangle added": (code("x.triangles.append(copy(x.triangles[0]))"), "3 "),
            "a triangle removed": (code("x.triangles.pop()"), "1 "),
        },
    ),
    "3d/gltf_binary": Case(
        "glb",
        put(gltf),
        python("import pygltflib; print(pygltflib.GLTF2().load_binary(f).asset)"),
        {"a longer text": (code("c = x.chunks[0]\nc.data.data = c.data.data.replace('\"2.0\"', '\"2.0\", \"generator\": \"kodec\"').strip().ljust(56)"), "kodec")},
    ),
    "executable/swf": Case(
        "swf",
        shell("ffmpeg -v error -f lavfi -i color=red:size=32x32:rate=10:duration=1 -c:v flv1 {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -count_frames -show_streams {}",
        {
            "a tag added": (code("t = x.plain_body.tags\nn = copy(t[0])\nt.insert(1, m.Tag(record_header=m.RecordHeader(tag_code_and_length=77 << 6 | 5), tag_body=b'hello'))"), "flv1"),
        },
        complains=("rror",),
    ),
    "archive/android_sparse": Case(
        "simg",
        shell("head -c 8192 /dev/zero > a && printf hello >> a && truncate -s 16384 a && img2simg a {}", "img2simg", "simg2img"),
        "simg2img {} raw.img && ls -l raw.img && strings raw.img",
        {"other data": (code("c = [c for c in x.chunks if isinstance(c.body, bytes) and b'hello' in c.body][0]\nassert b'hello' in c.body\nc.body = c.body.replace(b'hello', b'HELLO')"), "HELLO")},
        complains=("rror", "nvalid"),
    ),
    "media/id3v2_3": Case(
        "mp3",
        shell("ffmpeg -v error -f lavfi -i sine=duration=0.2 -metadata title=hello -id3v2_version 3 -write_xing 0 {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -show_format {} && exiftool {}",
        {
            "a title of the same length": (code("fr = [fr for fr in x.tag.frames if fr.id == 'TIT2'][0]\nfr.data = fr.data.replace(b'hello', b'HELLO')"), "HELLO"),
            "a longer title": (code("fr = [fr for fr in x.tag.frames if fr.id == 'TIT2'][0]\nfr.data = b'\\0a longer title'"), "a longer title"),
            "a frame removed": (code("x.tag.frames.remove([fr for fr in x.tag.frames if fr.id == 'TSSE'][0])"), "hello"),
        },
        complains=("rror",),
    ),
    "media/id3v1_1": Case(
        "mp3",
        shell("ffmpeg -v error -f lavfi -i sine=duration=0.2 -id3v2_version 0 -write_xing 0 {} && printf 'TAG%-30s%-30s%-30s2026%-30s\\001' hello a b c >> {}", "ffmpeg", "exiftool"),
        "exiftool {}",
        {"a longer title": (code("x.id3v1_tag.title = b'a longer title'.ljust(30, b'\\0')"), "a longer title")},
    ),
    "font/pcf_font": Case(
        "pcf",
        shell("""printf 'STARTFONT 2.1\\nFONT hello\\nSIZE 8 75 75\\nFONTBOUNDINGBOX 8 8 0 0\\nSTARTPROPERTIES 2\\nFONT_ASCENT 8\\nFONT_DESCENT 0\\nENDPROPERTIES\\nCHARS 1\\nSTARTCHAR A\\nENCODING 65\\nSWIDTH 500 0\\nDWIDTH 8 0\\nBBX 8 1 0 0\\nBITMAP\\nFF\\nENDCHAR\\nENDFONT\\n' > a.bdf && bdftopcf -o {} a.bdf""", "bdftopcf", "fc-query"),
        "fc-query {}",
        {
            "a table removed": (code("x.tables.remove([t for t in x.tables if t.type == 0x40][0])"), ""),
        },
    ),
    "font/grub2_font": Case(
        "pf2",
        shell("grub-mkfont -s 12 -o {} $(find /usr/share/fonts -name '*.ttf' | head -1)", "grub-mkfont", "file"),
        "file {}",
        {"a longer name": (code("s = [s for s in x.sections if s.section_type == 'NAME'][0]\ns.body.font_name = 'a longer name of a font, longer than before'"), "a longer name")},
    ),
    "image/xwd": Case(
        "xwd",
        shell("convert -size 20x20 xc:red -colors 2 {}", "convert", "identify"),
        "identify -verbose {}",
        {"a longer creator": (changed("hdr.creator", "a longer creator of this image"), "20x20")},
    ),
    "image/pcx": Case(
        "pcx",
        shell("convert -size 20x20 gradient:red-blue -colors 20 -type palette {}", "convert", "identify"),
        "identify -verbose {}",
        {"another palette": (code("x.palette_256.colors[0].r = 7"), "20x20")},
    ),
    "geospatial/shapefile_main": Case(
        "shp",
        shell("shpcreate a point && shpadd a 1 2 && shpadd a 3 4 && cp a.shp {}", "shpcreate", "shpdump"),
        "cp a.shx sample.shx; cp a.shx edited.shx; file {}",
        {"a record added": (code("r = copy(x.records[0])\nx.records.append(r)"), "length 92")},
    ),
    "media/quicktime_mov": Case(
        "mp4",
        shell("ffmpeg -v error -f lavfi -i color=red:size=32x32:rate=10:duration=1 -c:v mpeg4 {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -count_frames -show_streams -show_format {}",
        {
            "an atom added": (code("x.atoms.items.append(m.Atom(len32=None, atom_type=0x66726565, body=b'some free space'))"), "nb_read_frames=10"),
            "an atom removed": (code("x.atoms.items.append(m.Atom(len32=None, atom_type=0x66726565, body=b'some free space'))\nx = m.QuicktimeMov.from_bytes(x.to_bytes())\nx.atoms.items[-1].body = b'shorter'"), "nb_read_frames=10"),
        },
        complains=("rror",),
    ),
    "filesystem/luks": Case(
        "img",
        shell("truncate -s 4M {} && printf hello | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 {} -", "cryptsetup"),
        "cryptsetup luksDump {}",
        {"another UUID": (changed("partition_header.uuid", "11111111-2222-3333-4444-555555555555".ljust(40, "\0")), "11111111-2222")},
    ),
    "filesystem/vfat": Case(
        "img",
        shell("truncate -s 1M {} && mkfs.vfat -n HELLO {} && printf hello > a.txt && mcopy -i {} a.txt ::", "mkfs.vfat", "mcopy", "fsck.vfat"),
        "fsck.vfat -n {} && mdir -i {} ::",
        {"another name of a file": (code("r = [r for r in x.root_dir.records if r.file_name.startswith(b'A')][0]\nr.file_name = b'B       TXT'"), "B        TXT")},
    ),
    "filesystem/ext2": Case(
        "img",
        shell("truncate -s 1M {} && mke2fs -q -t ext2 -O none -L hello {}", "mke2fs", "e2fsck"),
        "e2fsck -fn {} && dumpe2fs -h {}",
        {"another label": (code("x.bg1.super_block.volume_name = b'another name'.ljust(16, b'\\0')"), "another name")},
    ),
    "filesystem/vdi": Case(
        "vdi",
        shell("qemu-img create -f vdi {} 1M", "qemu-img"),
        "qemu-img check {} && qemu-img info {}",
        {"a longer comment": (code("x.header.header_main.description = 'a longer comment'.ljust(256, chr(0))"), "vdi")},
    ),
    "filesystem/iso9660": Case(
        "iso",
        shell("mkdir d && printf hello > d/a.txt && genisoimage -quiet -V HELLO -o {} d", "genisoimage", "isoinfo"),
        "isoinfo -d -i {} && isoinfo -l -i {}",
        {"another label": (code("x.primary_vol_desc.vol_desc_primary.volume_id = 'ANOTHER'.ljust(32)"), "ANOTHER")},
    ),
    "image/exif": Case(
        "tif",
        shell("convert -size 20x20 xc:red -define tiff:endian=lsb -set comment 'hello, world' -set tiff:software 'a program' {}", "convert", "tiffinfo"),
        "tiffinfo {} && exiftool {} && identify {}",
        {
            "a longer description": (code("t = [t for t in x.body.ifd0.fields if t.tag == 270][0]\nt.data = b'a much longer description than before\\0'"), "a much longer description"),
            "a field removed": (code("x.body.ifd0.fields.remove([t for t in x.body.ifd0.fields if t.tag == 270][0])"), "20x20"),
        },
        complains=("rror", "arning"),
    ),
    "game/doom_wad": Case(
        "wad",
        made_by("import omg; w = omg.WAD(); w.data['HELLO'] = omg.Lump(b'hello'); w.data['WORLD'] = omg.Lump(b'second'); w.to_file(f)"),
        python("import omg; w = omg.WAD(f); print({k: v.data for k, v in w.data.items()})"),
        {
            "a longer lump": (code("i = [i for i in x.index if i.name == 'HELLO'][0]\ni.contents = b'a longer content'"), "a longer content"),
            "a lump added": (code("n = m.IndexEntry(name='NEW')\nn.contents = b'new content'\nk = [i.name for i in x.index].index('HELLO')\nx.index = [*x.index[:k], n, *x.index[k:]]"), "new content"),
            "a lump removed": (code("x.index = [i for i in x.index if i.name != 'HELLO']"), "second"),
        },
    ),
    "image/dicom": Case(
        "dcm",
        shell("convert -size 20x20 xc:red a.jpg && img2dcm -k 'PatientName=hello' a.jpg {}", "convert", "img2dcm", "dcmdump"),
        "dcmdump {}",
        {"a longer name": (code("e = [e for r in x.elements for e in [r, *(r.elements or [])] if (e.tag_group, e.tag_elem) == (0x10, 0x10)][0]\ne.value = b'a longer name '"), "a longer name")},
        complains=("E:", "W:"),
    ),
    "executable/microsoft_pe": Case(
        "exe",
        lambda file: file.write_bytes(next(Path(sys.prefix).rglob("t64.exe")).read_bytes()),
        python("import pefile; p = pefile.PE(f); print([s.Name for s in p.sections], hex(p.FILE_HEADER.TimeDateStamp))"),
        {
            "another time": (changed("pe.coff_hdr.time_date_stamp", 0x12345678), "0x12345678"),
            "another name of a section": (code("x.pe.sections[0].name = '.other'"), ".other"),
        },
    ),
    "filesystem/vmware_vmdk": Case(
        "vmdk",
        shell("qemu-img create -f vmdk {} 1M", "qemu-img"),
        "qemu-img check {} && qemu-img info {}",
        {"another identity": (code("import re\nx.descriptor = re.sub(rb'CID=[0-9a-f]{8}', b'CID=12345678', x.descriptor, count=1)"), "305419896")},
    ),
    "archive/xar": Case(
        "xar",
        shell("printf hello > a.txt && bsdtar -c --format xar -f {} a.txt", "bsdtar"),
        "bsdtar -tvf {}",
        {
            "a longer name, which moves the heap": (code("x.toc.xml_string = x.toc.xml_string.replace('a.txt', 'a-longer-name.txt')"), "a-longer-name.txt"),
        },
    ),
    "windows/windows_lnk_file": Case(
        "lnk",
        made_by("import pylnk3; pylnk3.for_file('c:\\\\windows\\\\a.txt', f, description='hello', arguments='-a')"),
        "lnkinfo {}",
        {
            "a longer description": (code("d = x.name\nd.str_ = 'a longer description'"), "a longer description"),
        },
    ),
    "game/minecraft_nbt": Case(
        "nbt",
        made_by("import nbtlib; nbtlib.File({'a': nbtlib.String('hello'), 'b': nbtlib.Int(7)}).save(f, gzipped=False)"),
        python("import nbtlib; print(nbtlib.load(f))"),
        {
            "a longer string": (code("t = x.root.payload.tags[0]\nt.payload.data = 'a longer text'"), "a longer text"),
            "a tag removed": (code("x.root.payload.tags.pop(1)"), "hello"),
        },
    ),
    "log/mcap": Case(
        "mcap",
        made_by("from mcap.writer import Writer; s = open(f, 'wb'); w = Writer(s); w.start(); i = w.register_schema('a', 'jsonschema', b'{}'); c = w.register_channel('topic', 'json', i); w.add_message(c, 1, b'{}', 1); w.add_attachment(1, 1, 'hello.txt', 'text/plain', b'data'); w.finish(); s.close()"),
        python("from mcap.reader import make_reader; r = make_reader(open(f, \"rb\"), validate_crcs=True); print(list(r.iter_messages()), list(r.iter_attachments()), r.get_header())"),
        {
            "a longer name of the library": (code("r = x.records[0]\nr.body.library.str_ = 'a longer name of a library'"), "a longer name"),
        },
    ),
}  # fmt: skip

"""The formats of the lab, by the path of their schema in the gallery."""

# ruff: noqa: E501  (an edit on one line is easier to read)

from __future__ import annotations

import sys
from pathlib import Path

from tests.labs.edits.case import Case, needs, shell
from tests.labs.edits.samples import (
    ADD_TO_ZIP,
    DATAGRAM,
    DEFLATED,
    RIGHT_IP,
    SERVER,
    ZIP,
    gltf,
    midi,
    pcap,
    quake_pak,
    stl,
)
from tests.labs.edits.tools import changed, code, made_by, put, python, wheel

__all__ = ["CASES"]

CASES: dict[str, Case] = {
    "3d/gltf_binary": Case(
        "glb",
        put(gltf),
        python("import pygltflib; print(pygltflib.GLTF2().load_binary(f).asset)"),
        {"a longer text": (code("c = x.chunks[0]\nc.data.data = c.data.data.replace('\"2.0\"', '\"2.0\", \"generator\": \"kodec\"').strip().ljust(56)"), "kodec")},
    ),
    "archive/android_img": Case(
        "img",
        shell("printf kernel > k && printf ramdisk > r && mkbootimg --kernel k --ramdisk r --cmdline hello --board board -o {}", "mkbootimg", "unpack_bootimg"),
        "unpack_bootimg --boot_img {} --out out && cat out/kernel out/ramdisk && abootimg -i {}",
        {
            "a longer command line": (changed("cmdline", "a longer command line"), "a longer command line"),
            "a longer name": (changed("name", "a-longer-name"), "a-longer-name"),
        },
    ),
    "archive/android_sparse": Case(
        "simg",
        shell("head -c 8192 /dev/zero > a && printf hello >> a && truncate -s 16384 a && img2simg a {}", "img2simg", "simg2img"),
        "simg2img {} raw.img && ls -l raw.img && strings raw.img",
        {"other data": (code("c = [c for c in x.chunks if isinstance(c.body, bytes) and b'hello' in c.body][0]\nassert b'hello' in c.body\nc.body = c.body.replace(b'hello', b'HELLO')"), "HELLO")},
        complains=("rror", "nvalid"),
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
    "archive/xar": Case(
        "xar",
        shell("printf hello > a.txt && bsdtar -c --format xar --options xar:toc-checksum=none -f {} a.txt", "bsdtar"),
        "bsdtar -tvf {}",
        {
            "a longer name, which moves the heap": (code("x.header.toc_length_uncompressed += 12\nx.toc.xml_string = x.toc.xml_string.replace('a.txt', 'a-longer-name.txt')"), "a-longer-name.txt"),
        },
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
    "database/dbf": Case(
        "dbf",
        shell("dbfcreate {} -s NAME 10 -n N 5 0 && dbfadd {} hello 1 && dbfadd {} world 2", "dbfcreate", "dbfadd", "dbfdump"),
        "dbfdump -h {}",
        {
            "a record added": (code("r = copy(x.records[0])\nr.record_fields = [b'new'.ljust(10), b'    3']\nx.records.append(r)"), "new"),
            "a record removed": (code("x.records.pop()"), "hello"),
        },
    ),
    "database/gettext_mo": Case(
        "mo",
        shell("""printf 'msgid ""\\nmsgstr "Content-Type: text/plain; charset=UTF-8\\\\n"\\n\\nmsgid "one"\\nmsgstr "eins"\\n\\nmsgid "two"\\nmsgstr "zwei"\\n' > a.po && msgfmt -o {} a.po""", "msgfmt", "msgunfmt"),
        "msgunfmt {}",
        {
            "another translation": (code("x.mo.translations[1].str_ = 'eine'"), "eine"),
            "a much longer translation": (code("x.mo.translations[2].str_ = 'viel laenger als vorher'"), "viel laenger"),
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
    "executable/elf": Case(
        "elf",
        shell("printf 'int main(void) { return 0; }' > a.c && gcc -o {} a.c", "gcc", "readelf"),
        "readelf --all --wide {} && readelf -p .comment {} && chmod +x {} && {}",
        {
            "a longer comment": (code("s = [s for s in x.header.section_headers if s.name == '.comment'][0]\ns.body = b'a longer comment than before ' * 3 + b'\\0'"), "a longer comment"),
        },
        complains=("rror:", "arning:"),
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
    "executable/mach_o": Case(
        "so",
        wheel("markupsafe==3.0.2", "macosx_11_0_arm64", ".so", "llvm-objdump"),
        "llvm-objdump --macho --private-headers {}",
        {"another identity": (code("c = [c for c in x.load_commands if type(c.body).__name__ == 'UuidCommand'][0]\nc.body.uuid = bytes(range(16))"), "00010203-0405")},
        complains=("malformed", "truncated"),
    ),
    "executable/mach_o_fat": Case(
        "so",
        wheel("markupsafe==3.0.2", "macosx_10_13_universal2", ".so", "llvm-objdump"),
        "llvm-objdump --macho --universal-headers --private-headers --arch all {}",
        {"an architecture removed": (code("x.fat_archs.pop()"), "nfat_arch 1")},
        complains=("malformed", "truncated"),
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
    "executable/swf": Case(
        "swf",
        shell("ffmpeg -v error -f lavfi -i color=red:size=32x32:rate=10:duration=1 -c:v flv1 {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -count_frames -show_streams {}",
        {
            "a tag added": (code("t = x.plain_body.tags\nn = copy(t[0])\nt.insert(1, m.Tag(record_header=m.RecordHeader(tag_code_and_length=77 << 6 | 5), tag_body=b'hello'))"), "flv1"),
        },
        complains=("rror",),
    ),
    "filesystem/apm_partition_table": Case(
        "img",
        shell("truncate -s 4M {} && parted -s {} mklabel mac mkpart one 128s 2047s mkpart two 2048s 4095s", "parted"),
        "parted -s {} print",
        {"a longer name": (code("p = [p for p in x.partition_entries if p.partition_name == 'one'][0]\np.partition_name = 'a longer name'"), "a longer name")},
        complains=("rror", "arning"),
    ),
    "filesystem/ext2": Case(
        "img",
        shell("truncate -s 1M {} && mke2fs -q -t ext2 -O none -L hello {}", "mke2fs", "e2fsck"),
        "e2fsck -fn {} && dumpe2fs -h {}",
        {"another label": (code("x.bg1.super_block.volume_name = b'another name'.ljust(16, b'\\0')"), "another name")},
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
    "filesystem/iso9660": Case(
        "iso",
        shell("mkdir d && printf hello > d/a.txt && genisoimage -quiet -V HELLO -o {} d", "genisoimage", "isoinfo"),
        "isoinfo -d -i {} && isoinfo -l -i {}",
        {"another label": (code("x.primary_vol_desc.vol_desc_primary.volume_id = 'ANOTHER'.ljust(32)"), "ANOTHER")},
    ),
    "filesystem/luks": Case(
        "img",
        shell("truncate -s 4M {} && printf hello | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 {} -", "cryptsetup"),
        "cryptsetup luksDump {}",
        {"another UUID": (changed("partition_header.uuid", "11111111-2222-3333-4444-555555555555".ljust(40, "\0")), "11111111-2222")},
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
    "filesystem/vdi": Case(
        "vdi",
        shell("qemu-img create -f vdi {} 1M", "qemu-img"),
        "qemu-img check {} && qemu-img info {}",
        {"a longer comment": (code("x.header.header_main.description = 'a longer comment'.ljust(256, chr(0))"), "vdi")},
    ),
    "filesystem/vfat": Case(
        "img",
        shell("truncate -s 1M {} && mkfs.vfat -n HELLO {} && printf hello > a.txt && mcopy -i {} a.txt ::", "mkfs.vfat", "mcopy", "fsck.vfat"),
        "fsck.vfat -n {} && mdir -i {} ::",
        {"another serial number": (changed("boot_sector.ebpb_fat16.volume_id", bytes.fromhex("78563412")), "1234-5678"), "another name of a file": (code("r = [r for r in x.root_dir.records if r.file_name.startswith(b'A')][0]\nr.file_name = b'B       TXT'"), "B        TXT")},
    ),
    "filesystem/vmware_vmdk": Case(
        "vmdk",
        shell("qemu-img create -f vmdk {} 1M", "qemu-img"),
        "qemu-img check {} && qemu-img info {}",
        {"another identity": (code("import re\nx.descriptor = re.sub(rb'CID=[0-9a-f]{8}', b'CID=12345678', x.descriptor, count=1)"), "305419896")},
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
    "font/grub2_font": Case(
        "pf2",
        shell("grub-mkfont -s 12 -o {} $(find /usr/share/fonts -name '*.ttf' | head -1)", "grub-mkfont", "file"),
        "file {}",
        {"a longer name": (code("s = [s for s in x.sections if s.section_type == 'NAME'][0]\ns.body.font_name = 'a longer name of a font, longer than before'"), "a longer name")},
    ),
    "font/pcf_font": Case(
        "pcf",
        shell("""printf 'STARTFONT 2.1\\nFONT hello\\nSIZE 8 75 75\\nFONTBOUNDINGBOX 8 8 0 0\\nSTARTPROPERTIES 2\\nFONT_ASCENT 8\\nFONT_DESCENT 0\\nENDPROPERTIES\\nCHARS 1\\nSTARTCHAR A\\nENCODING 65\\nSWIDTH 500 0\\nDWIDTH 8 0\\nBBX 8 1 0 0\\nBITMAP\\nFF\\nENDCHAR\\nENDFONT\\n' > a.bdf && bdftopcf -o {} a.bdf""", "bdftopcf", "fc-query"),
        "fc-query {}",
        {
            "a table removed": (code("x.tables.remove([t for t in x.tables if t.type == 0x40][0])"), ""),
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
    "game/minecraft_nbt": Case(
        "nbt",
        made_by("import nbtlib; nbtlib.File({'a': nbtlib.String('hello'), 'b': nbtlib.Int(7)}).save(f, gzipped=False)"),
        python("import nbtlib; print(nbtlib.load(f))"),
        {
            "a longer string": (code("t = x.root.payload.tags[0]\nt.payload.data = 'a longer text'"), "a longer text"),
            "a tag removed": (code("x.root.payload.tags.pop(1)"), "hello"),
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
    "geospatial/shapefile_index": Case(
        "shx",
        shell("shpcreate a point && shpadd a 1 2 && shpadd a 3 4 && cp a.shx {}", "shpcreate"),
        python("import shapefile; r = shapefile.Reader(shp=open('a.shp', 'rb'), shx=open(f, 'rb')); print(len(r), [r.shape(n).points for n in range(len(r))])"),
        {
            "a record removed, and the length that the schema does not use": (code("x.records.pop()\nx.header.file_length -= 4"), "1 ["),
            "records exchanged": (code("x.records.reverse()"), "[[(3.0, 4.0)]"),
        },
    ),
    "geospatial/shapefile_main": Case(
        "shp",
        shell("shpcreate a point && shpadd a 1 2 && shpadd a 3 4 && cp a.shp {}", "shpcreate", "shpdump"),
        "cp a.shx sample.shx; cp a.shx edited.shx; file {}",
        {"a record added": (code("r = copy(x.records[0])\nx.records.append(r)"), "length 92")},
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
    "image/dicom": Case(
        "dcm",
        shell("printf '(0008,0016) UI =SecondaryCaptureImageStorage\\n(0008,0018) UI [1.2.3]\\n(0010,0010) PN [hello]\\n(0010,0020) LO [7]\\n' > a && dump2dcm +te a {}", "dump2dcm", "dcmdump"),
        "dcmdump {}",
        {
            "a longer name": (code("e = [r for r in x.elements if getattr(r, 'elements', None)][0].elements\n[e for e in e if (e.tag_group, e.tag_elem) == (0x10, 0x10)][0].value = b'a longer name '"), "a longer name"),
            "an element removed": (code("[r for r in x.elements if getattr(r, 'elements', None)][0].elements.pop()"), "hello"),
            "an element added": (code("e = [r for r in x.elements if getattr(r, 'elements', None)][0].elements\nn = copy(e[-1])\nn.tag_elem, n.value = 0x1000, b'new '\ne.append(n)"), "new"),
        },
        complains=("E:", "W:"),
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
    "image/icc_4": Case(
        "icc",
        made_by("from PIL import ImageCms; open(f, 'wb').write(ImageCms.ImageCmsProfile(ImageCms.createProfile('sRGB')).tobytes())"),
        python("from PIL import ImageCms; p = ImageCms.getOpenProfile(f); print(ImageCms.getProfileDescription(p), p.profile.manufacturer, p.profile.rendering_intent)") + " && exiftool {}",
        {
            "another intent": (changed("header.rendering_intent", 1), " 1\n"),
        },
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
    "image/pcx": Case(
        "pcx",
        shell("convert -size 20x20 gradient:red-blue -colors 20 -type palette {}", "convert", "identify"),
        "identify -verbose {}",
        {"another palette": (code("x.palette_256.colors[0].r = 7"), "20x20")},
    ),
    "image/pcx_dcx": Case(
        "dcx",
        shell("convert -size 20x20 gradient:red-blue -colors 20 -type palette a.pcx && convert a.pcx a.pcx {}", "convert", "identify"),
        "identify -verbose {}",
        {
            "another palette": (code("x.files[0].body.palette_256.colors[0].r = 7"), "20x20"),
        },
    ),
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
    "image/tga": Case(
        "tga",
        shell("convert -size 20x20 xc:red {}", "convert", "identify"),
        "identify -verbose {}",
        {"a longer identification": (changed("image_id", b"a longer identification"), "a longer identification")},
    ),
    "image/xwd": Case(
        "xwd",
        shell("convert -size 20x20 xc:red -colors 2 {}", "convert", "identify"),
        "identify -verbose {}",
        {"a longer creator": (changed("hdr.creator", "a longer creator of this image"), "20x20")},
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
    "log/mcap": Case(
        "mcap",
        made_by("from mcap.writer import Writer; s = open(f, 'wb'); w = Writer(s); w.start(); i = w.register_schema('a', 'jsonschema', b'{}'); c = w.register_channel('topic', 'json', i); w.add_message(c, 1, b'{}', 1); w.add_attachment(1, 1, 'hello.txt', 'text/plain', b'data'); w.finish(); s.close()"),
        python("from mcap.reader import make_reader; r = make_reader(open(f, \"rb\"), validate_crcs=True); print(list(r.iter_messages()), list(r.iter_attachments()), r.get_header())"),
        {
            "a longer name of the library": (code("r = x.records[0]\nr.body.library.str_ = 'a longer name of a library'"), "a longer name"),
        },
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
    "media/creative_voice_file": Case(
        "voc",
        shell("sox -n -r 8000 -b 8 -c 1 -e unsigned-integer {} synth 0.1 sine 440 && " + python("d = open(f, 'rb').read(); open(f, 'wb').write(d[:-1] + bytes([5, 8, 0, 0]) + b'comment' + bytes(2))"), "sox", "soxi"),
        "soxi {} && sox {} -n stat",
        {
            "more samples": (code("b = x.blocks[0]\nb.body.wave += bytes([128]) * 800"), "1600"),
            "a block added": (code("x.blocks.insert(1, m.Block(block_type=5, body=b'a comment\\0'))"), ""),
            "a block removed": (code("x.blocks.pop(1)"), ""),
        },
        complains=("FAIL",),
    ),
    "media/id3v1_1": Case(
        "mp3",
        shell("ffmpeg -v error -f lavfi -i sine=duration=0.2 -id3v2_version 0 -write_xing 0 {} && printf 'TAG%-30s%-30s%-30s2026%-30s\\001' hello a b c >> {}", "ffmpeg", "exiftool"),
        "exiftool {}",
        {"a longer title": (code("x.id3v1_tag.title = b'a longer title'.ljust(30, b'\\0')"), "a longer title")},
    ),
    "media/id3v2_3": Case(
        "mp3",
        shell("ffmpeg -v error -f lavfi -i sine=duration=0.2 -metadata title=hello -id3v2_version 3 -write_xing 0 {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -show_format {} && exiftool {}",
        {
            "a title of the same length": (code("fr = [fr for fr in x.tag.frames if fr.id == 'TIT2'][0]\nfr.data = fr.data.replace(b'hello', b'HELLO')"), "HELLO"),
            "a longer title, and the size of the tag": (code("fr = [fr for fr in x.tag.frames if fr.id == 'TIT2'][0]\nold = len(fr.data)\nfr.data = b'\\0a longer title'\nx.tag.header.size.short1.byte1.value += len(fr.data) - old"), "a longer title"),
            "a frame removed, and the size of the tag": (code("fr = [fr for fr in x.tag.frames if fr.id == 'TSSE'][0]\nx.tag.frames.remove(fr)\nx.tag.header.size.short1.byte1.value -= 10 + len(fr.data)"), "hello"),
        },
        complains=("rror",),
    ),
    "media/magicavoxel_vox": Case(
        "vox",
        made_by("import numpy; from pyvox.models import Vox; from pyvox.writer import VoxWriter; a = numpy.zeros((3, 3, 3), dtype='u1'); a[0, 0, 0] = 1; a[1, 1, 1] = 2; VoxWriter(f, Vox.from_dense(a)).write()"),
        python("from pyvox.parser import VoxParser; v = VoxParser(f).parse(); print(len(v.models[0].voxels), v.models[0].voxels)"),
        {
            "a voxel added, and the size that the schema does not use": (code("c = [c for c in x.main.children_chunks if type(c.chunk_content).__name__ == 'Xyzi'][0].chunk_content\nc.voxels.append(copy(c.voxels[0]))\nx.main.num_bytes_of_children_chunks += 4"), "3 ["),
            "a voxel removed, and that size": (code("c = [c for c in x.main.children_chunks if type(c.chunk_content).__name__ == 'Xyzi'][0].chunk_content\nc.voxels.pop()\nx.main.num_bytes_of_children_chunks -= 4"), "1 ["),
        },
    ),
    "media/ogg": Case(
        "ogg",
        shell("sox -n -r 8000 -b 16 -c 1 a.wav synth 0.2 sine 440 && oggenc -q 0 -c TITLE=hello -o {} a.wav", "sox", "oggenc", "ogginfo"),
        "ogginfo {} && ffprobe -v error -show_format -show_streams {}",
        {
            "a longer title": (code("s = x.pages[1].segments[0]\nold = struct.pack('<I', 11) + b'TITLE=hello'\nnew = struct.pack('<I', 18) + b'TITLE=hello, world'\nassert old in s\nx.pages[1].segments[0] = s.replace(old, new)"), "hello, world"),
            "another position of the last page": (code("last = x.pages[-1]\nlast.granule_pos += 1"), ""),
        },
        complains=("rror", "WARNING"),
    ),
    "media/quicktime_mov": Case(
        "mp4",
        shell("ffmpeg -v error -f lavfi -i color=red:size=32x32:rate=10:duration=1 -c:v mpeg4 {} && printf '\\0\\0\\0\\14free1234' >> {}", "ffmpeg", "ffprobe"),
        "ffprobe -v error -count_frames -show_streams -show_format {}",
        {
            "an atom added": (code("x.atoms.items.append(m.Atom(len32=None, atom_type=0x66726565, body=b'some free space'))"), "nb_read_frames=10"),
            "an atom removed": (code("x.atoms.items.pop()"), "nb_read_frames=10"),
            "a longer atom": (code("x.atoms.items[-1].body = b'more free space'"), "nb_read_frames=10"),
        },
        complains=("rror",),
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
    "media/stl": Case(
        "stl",
        put(stl),
        python("from stl import mesh; t = mesh.Mesh.from_file(f); print(len(t.vectors), t.name)"),
        {
            "a triangle added": (code("x.triangles.append(copy(x.triangles[0]))"), "3 "),
            "a triangle removed": (code("x.triangles.pop()"), "1 "),
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
    "network/bitcoin_transaction": Case(
        "bin",
        made_by("from bitcoin.core import *; from bitcoin.core.script import CScript; s = b'0D\\x02 ' + bytes(range(1, 33)) + b'\\x02 ' + bytes(range(1, 33)) + b'\\x01'; i = CTxIn(COutPoint(bytes(32), 0), CScript([s, b'\\x04' + bytes(64)])); o = CTxOut(5000, CScript(b'\\x76\\xa9\\x14' + bytes(20) + b'\\x88\\xac')); open(f, 'wb').write(CTransaction([i], [o]).serialize())"),
        python("from bitcoin.core import *; t = CTransaction.deserialize(open(f, 'rb').read()); print(len(t.vout), [(o.nValue, bytes(o.scriptPubKey)) for o in t.vout], t.nLockTime)"),
        {
            "an output added": (code("x.vouts.append(copy(x.vouts[0]))"), "2 [(5000"),
            "a longer script": (code("x.vouts[0].script_pub_key = b'a longer script than before'"), "a longer script"),
            "another lock time": (changed("locktime", 777), "777"),
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
    "network/ethernet_frame": Case(
        "bin",
        made_by(f"{DATAGRAM}; e = dpkt.ethernet.Ethernet(src=bytes(6), dst=bytes([2] * 6), type=2048, data=ip); open(f, 'wb').write(bytes(e))"),
        python(f"import dpkt; e = dpkt.ethernet.Ethernet(open(f, 'rb').read()); ip = e.data; {RIGHT_IP}; print(e.src, ip.data.data)"),
        {
            "another address": (changed("src_mac", b"sender"), "sender"),
            "a longer datagram": (changed("body.body.body.body", b"a longer datagram"), "a longer datagram"),
        },
    ),
    "network/icmp_packet": Case(
        "bin",
        made_by("import dpkt; e = dpkt.icmp.ICMP.Echo(id=7, seq=1, data=b'hello'); open(f, 'wb').write(bytes(dpkt.icmp.ICMP(type=8, data=e)))"),
        python("import dpkt; d = open(f, 'rb').read(); assert dpkt.in_cksum(d) == 0; print(dpkt.icmp.ICMP(d).data.data)"),
        {"a longer ping": (changed("echo.data", b"a longer ping"), "a longer ping")},
    ),
    "network/ipv4_packet": Case(
        "bin",
        made_by(f"{DATAGRAM}; open(f, 'wb').write(bytes(ip))"),
        python(f"import dpkt; ip = dpkt.ip.IP(open(f, 'rb').read()); {RIGHT_IP}; print(ip.ttl, ip.data.data)"),
        {
            "a longer datagram": (changed("body.body.body", b"a longer datagram"), "a longer datagram"),
            "another lifetime": (changed("ttl", 33), "33 "),
        },
    ),
    "network/ipv6_packet": Case(
        "bin",
        made_by("import dpkt; u = dpkt.udp.UDP(sport=5000, dport=5001, data=b'hello', ulen=13); p = dpkt.ip6.IP6(src=bytes(16), dst=bytes(15) + b'a', nxt=17, hlim=9, plen=13, data=bytes(u)); open(f, 'wb').write(bytes(p))"),
        python("import dpkt; p = dpkt.ip6.IP6(open(f, 'rb').read()); assert p.plen == len(p.data) == p.data.ulen; print(p.hlim, p.data.data)"),
        {
            "another limit": (changed("hop_limit", 77), "77 "),
            "a longer datagram, and the length that the schema does not use": (code("x.next_header.body.body = b'a longer datagram'\nx.payload_length = 25"), "a longer datagram"),
        },
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
    "network/rtp_packet": Case(
        "bin",
        made_by("import dpkt; open(f, 'wb').write(bytes(dpkt.rtp.RTP(seq=7, ts=1000, ssrc=9, pt=0, data=b'hello')))"),
        python("import dpkt; r = dpkt.rtp.RTP(open(f, 'rb').read()); print(r.seq, r.data)"),
        {
            "more data": (changed("data", b"more data than before"), "more data than before"),
            "another number": (changed("sequence_number", 8), "8 "),
        },
    ),
    "network/tcp_segment": Case(
        "bin",
        made_by("import dpkt; open(f, 'wb').write(bytes(dpkt.tcp.TCP(sport=5000, dport=80, seq=1, ack=2, flags=24, data=b'hello')))"),
        python("import dpkt; t = dpkt.tcp.TCP(open(f, 'rb').read()); print(t.opts, t.data)"),
        {
            "a longer body": (changed("body", b"a longer body"), "a longer body"),
            "an option added": (code("x.options = b'\\2\\4\\5\\xb4'\nx.data_offset = None"), "b'\\x02\\x04\\x05\\xb4' b'hello'"),
        },
    ),
    "network/tls_client_hello": Case(
        "bin",
        made_by("import ssl; c = ssl.create_default_context(); i, o = ssl.MemoryBIO(), ssl.MemoryBIO(); s = c.wrap_bio(i, o, server_hostname='hello.example')\ntry: s.do_handshake()\nexcept ssl.SSLWantReadError: open(f, 'wb').write(o.read()[9:])"),
        "test -f k.pem || openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=a -days 2 2>/dev/null; " + python(SERVER),
        {
            "a longer name of the server, and the lengths that the schema does not use": (code("e = [e for e in x.extensions.extensions if e.type == 0][0]\ns = e.body.server_names[0]\ns.host_name = b'a-longer-name.example'\ne.body.list_length += 8\nx.extensions.len += 8"), "a-longer-name.example"),
            "an extension removed, and the length that the schema does not use": (code("e = [e for e in x.extensions.extensions if e.type == 35][0]\nx.extensions.extensions.remove(e)\nx.extensions.len -= 4 + e.len"), "hello.example"),
            "a cipher suite added": (code("x.cipher_suites.cipher_suites.append(0x1234)\nx.cipher_suites.len = None"), "hello.example"),
        },
    ),
    "network/udp_datagram": Case(
        "bin",
        made_by("import dpkt; open(f, 'wb').write(bytes(dpkt.udp.UDP(sport=5000, dport=5001, data=b'hello', ulen=13)))"),
        python("import dpkt; d = open(f, 'rb').read(); u = dpkt.udp.UDP(d); assert u.ulen == len(d); print(u.data)"),
        {"a longer datagram": (changed("body", b"a longer datagram"), "a longer datagram")},
    ),
    "network/websocket": Case(
        "bin",
        made_by("from wsproto.connection import *; from wsproto.events import *; open(f, 'wb').write(Connection(ConnectionType.SERVER).send(TextMessage('hello')))"),
        python("from wsproto.connection import *; c = Connection(ConnectionType.CLIENT); c.receive_data(open(f, 'rb').read()); print([e.data for e in c.events() if e.message_finished])"),
        {"a longer text": (changed("initial_frame.payload_text", "a longer text"), "['a longer text']")},
    ),
    "security/efivar_signature_list": Case(
        "esl",
        shell("openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=hello -days 9 && cert-to-efi-sig-list -g 11111111-2222-3333-4444-555555555555 c.pem a && (printf '\\047\\0\\0\\0'; cat a a) > {}", "openssl", "cert-to-efi-sig-list"),
        "tail -c +5 {} > e && rm -f out* && sig-list-to-certs e out && ls out*",
        {
            "another owner": (code("x.signatures[0].signatures[0].owner = bytes(range(16))"), "03020100-0504"),
            "a list removed": (code("x.signatures.pop()"), "out-0.der"),
            "a list added": (code("x.signatures.append(copy(x.signatures[0]))"), "out-2.der"),
        },
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
    "security/ssh_public_key": Case(
        "ssh",
        shell("ssh-keygen -q -t ed25519 -N '' -f k && cut -d' ' -f2 k.pub | base64 -d > {}", "ssh-keygen"),
        "(printf 'ssh-ed25519 '; base64 -w0 {}; echo) > k2.pub && ssh-keygen -lf k2.pub",
        {"another key": (changed("body.pk", lambda pk: bytes(32)), "256 SHA256")},
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
    "serialization/microsoft_cfb": Case(
        "xls",
        made_by("import xlwt; w = xlwt.Workbook(); w.add_sheet('hello').write(0, 0, 'world'); w.save(f)"),
        python("import olefile; o = olefile.OleFileIO(f, raise_defects=olefile.DEFECT_INCORRECT); print(o.listdir(), o.root.clsid); [o.openstream(s).read() for s in o.listdir()]"),
        {
            "a longer name of a stream": (code("c = x.dir.child\nc.name, c.name_len = 'ALongerName'.ljust(32, chr(0)), 24"), "ALongerName"),
            "another class": (code("x.dir.clsid = bytes(range(16))"), "03020100-0504"),
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
    "serialization/python_pickle": Case(
        "pickle",
        made_by("import pickle; pickle.dump({'a': 'hello', 'b': 1}, open(f, 'wb'), 4)"),
        python("import pickle; print(pickle.load(open(f, 'rb')))"),
        {
            "a longer string": (code("o = [o for o in x.ops if getattr(o.arg, 'val', None) == 'hello'][0]\no.arg.val = 'a longer text'\nf = [o for o in x.ops if o.code == 0x95]\nf[0].arg += 8"), "a longer text"),
        },
    ),
    "serialization/ruby_marshal": Case(
        "marshal",
        shell("ruby -e 'File.binwrite(\"{}\", Marshal.dump([\"hello\", 7]))'", "ruby"),
        "ruby -e 'p Marshal.load(File.binread(\"{}\"))'",
        {"an element removed": (code("x.records.body.elements.pop()"), "hello")},
    ),
    "windows/windows_lnk_file": Case(
        "lnk",
        made_by("import pylnk3; pylnk3.for_file('c:\\\\windows\\\\a.txt', f, description='hello', arguments='-a')"),
        "lnkinfo {}",
        {
            "a longer description": (code("d = x.name\nd.str_ = 'a longer description'"), "a longer description"),
        },
    ),
}  # fmt: skip

"""Tries an installed kodec: the front door, its data files, and whether it has the kernels it should have.

Usage: smoke.py native|pure   (with the Python it is installed for; the directory does not matter)
"""

import importlib
import importlib.util
import pkgutil
import sys
from importlib.resources import files
from pathlib import Path

import kodec
import kodec.generated.kernels as kernels
import kodec.runtime.native
from kodec.generated.metadata.topic_record import TopicRecord

FOLDERS = ["cli", "formats", "generated", "generator", "log", "pipeline", "runtime", "schemas"]

wanted = sys.argv[1]
assert kodec.backend() == wanted, f"the backend is {kodec.backend()}"
stubs = {path.name.removesuffix(".pyi") for path in files(kernels).iterdir() if path.name.endswith(".pyi")}
built = {module.name for module in pkgutil.iter_modules(kernels.__path__)}
assert stubs
assert built == (stubs if wanted == "native" else set()), f"kernels: {built} of {stubs}"
for name in ("bindings", "messages"):
    found = importlib.util.find_spec(f"kodec.runtime.native.{name}")
    assert (found is not None) == (wanted == "native")
for name in built:
    importlib.import_module(f"{kernels.__name__}.{name}")

record = kodec.Record(offset=0, timestamp=0, timestamp_type=0, key=b"key", value=b"value", headers=())
data = kodec.encode([record])
assert [(each.key, each.value) for each in kodec.read_records(data)] == [(b"key", b"value")]
if importlib.util.find_spec("pyarrow"):
    table = kodec.read_table(data)
    assert table.column("value").to_pylist() == [b"value"]
    assert kodec.read_table(kodec.encode_table(table)).equals(table)

message = TopicRecord(name="orders")
assert TopicRecord.from_bytes(message.to_bytes(version=0), version=0) == message
assert (type(TopicRecord.to_bytes).__name__ == "Method") == (wanted == "native")

headers = {path.name for path in Path(kodec.runtime.native.include_dir()).glob("*.h")}
assert {"kodec_core.h", "kodec_arrow.h", "kodec_kernel.h", "kodec_objects.h"} <= headers
assert files(kodec).joinpath("py.typed").is_file()
assert not [name for name in FOLDERS if importlib.util.find_spec(name)]
print(f"Python {sys.version.split()[0]}: {kodec.backend()} {', '.join(sorted(built))}".rstrip())

"""Runs in the page's own Python while the page is built: gives the archive that the page unpacks.

It holds numpy, the compiler and the session. Every example runs once, and the modules that were
loaded for that are compiled, so that the page need not do so each time it is opened.
"""

import io
import json
import py_compile
import shutil
import site
import sys
import tarfile
import zipfile
from pathlib import Path

home = Path(site.getsitepackages()[0])
sources = Path("/from")

(archive,) = (sources / "numpy").glob("*.tar.gz")
with tarfile.open(archive) as tar:
    inside = f"lib/python3.{sys.version_info.minor}/site-packages/"
    numpy_licence = tar.extractfile("info/licenses/LICENSE.txt").read().decode()
    for member in tar.getmembers():
        path = member.name.removeprefix(inside)
        if member.isfile() and path != member.name and "/tests/" not in path:
            target = home / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())

shutil.copyfile(sources / "typing" / "typing_extensions.py", home / "typing_extensions.py")
shutil.copyfile(sources / "playground" / "session.py", home / "session.py")
for path in sorted((sources / "repository" / "tvm").rglob("*.py")):
    part = path.relative_to(sources / "repository")
    if part.parts[1] not in left_out:  # noqa: F821 - set by the caller
        target = home / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)

import session  # noqa: E402 - what was put together above

for example in examples:  # noqa: F821 - set by the caller
    made = session.run(example["program"], example["schedule"], example["sizes"])
    refused = "refused" in example["title"]
    if (made["error"] is None) == refused:
        raise SystemExit(f"{example['title']}: {json.dumps(made['error'], indent=1)}")

unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None) or ""
    if file.startswith(f"{home}/") and file.endswith(".py"):
        py_compile.compile(file, doraise=True, invalidation_mode=unchecked)

packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
    for path in sorted(home.rglob("*")):
        if path.is_file():
            made.write(path, path.relative_to(home))
packed.getvalue()

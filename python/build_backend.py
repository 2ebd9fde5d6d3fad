"""How pip builds the module: CMake's preset `python`, and its files in a wheel (PEP 517).

SCRM_BUILD_DIR names a build tree that has the module already; nothing is compiled then.
"""

import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version():
    """The one of CMakeLists.txt."""
    return re.search(r"project\(scrm VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def metadata():
    return (f"Metadata-Version: 2.1\nName: scrm\nVersion: {version()}\n"
            "Summary: Evaluate and learn decision policies from logged bandit data at hardware speed\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: frames\n"
            "Requires-Dist: pandas; extra == 'frames'\nProvides-Extra: bars\nRequires-Dist: tqdm; extra == 'bars'\n")


def tag():
    interpreter = f"cp{sysconfig.get_config_var('py_version_nodot')}"
    return f"{interpreter}-{interpreter}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def installed_files(into):
    """Builds, unless there is a build already, and installs the package."""
    build = os.environ.get("SCRM_BUILD_DIR")
    if not build:
        build = ROOT / "build" / "python"
        subprocess.run(["cmake", "--preset", "python"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", "--preset", "python"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--install", str(build), "--component", "python", "--prefix", into], check=True)
    return sorted(path for path in Path(into).rglob("*") if path.is_file())


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"scrm-{version()}-{tag()}.whl"
    info = f"scrm-{version()}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: scrm\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    with tempfile.TemporaryDirectory() as into:
        files = {str(path.relative_to(into)): path.read_bytes() for path in installed_files(into)}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The files that git knows."""
    name = f"scrm-{version()}"
    archive = Path(sdist_directory) / f"{name}.tar.gz"
    subprocess.run(["git", "archive", "--format=tar.gz", f"--prefix={name}/", "-o", str(archive), "HEAD"], cwd=ROOT,
                   check=True)
    return archive.name

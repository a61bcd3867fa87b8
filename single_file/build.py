"""Builds agent-wrap as one executable that needs nothing but glibc 2.28 or newer.

    python3 single_file/build.py agent-wrap

On Debian 12 with python3-venv, make and dpkg-dev; no root, no compiler (it comes as a
package). The parts: CPython's own source as Debian keeps it, every extension module
linked in; zlib, libffi and OpenSSL as Debian builds them; our packages as wheels, which
name the glibc that they need. Why it is done so: docs/adr/0005-the-single-file.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PYTHON = "3.11"
GLIBC = (2, 28)
COMPILER = "ziglang==0.17.1"
DEVELOPMENT = ("zlib1g-dev", "libffi-dev", "libssl-dev")
LIBRARIES = ("libz.a", "libffi.a", "libssl.a", "libcrypto.a")
ABSENT = (
    *("_tkinter", "nis", "_crypt", "readline", "_curses", "_curses_panel", "_dbm"),
    *("_gdbm", "_sqlite3", "_bz2", "_lzma", "_uuid", "ossaudiodev", "spwd"),
)
"""Extension modules whose libraries we would have to carry and never use."""

CTYPES = (
    "_ctypes _ctypes/_ctypes.c _ctypes/callbacks.c _ctypes/callproc.c "
    "_ctypes/stgdict.c _ctypes/cfield.c -lffi -ldl -DHAVE_FFI_PREP_CIF_VAR "
    "-DHAVE_FFI_PREP_CLOSURE_LOC -DHAVE_FFI_CLOSURE_ALLOC\n"
)
"""What this Python's own list of modules leaves to its setup.py."""


def call(
    *words: object,
    cwd: Path | None = None,
    may_fail: bool = False,
    env: Mapping[str, object] | None = None,
) -> str:
    """Run a command; give its output. Ends the build with it when the command fails."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**os.environ, **{name: str(value) for name, value in (env or {}).items()}},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode and not may_fail:
        sys.exit(f"{done.stdout[-4000:]}\nfailed: {' '.join(map(str, words))}")
    return done.stdout


def say(text: str) -> None:
    """Tell what is done next: the whole takes minutes."""
    print(f"--- {text}", flush=True)


def fetch_sources(work: Path) -> Path:
    """Get CPython's source by the machine's own package sources; give its folder."""
    apt = work / "apt"
    (apt / "lists" / "partial").mkdir(parents=True)
    (apt / "sources").mkdir()
    for path in Path("/etc/apt").glob("sources.list*"):
        files = path.iterdir() if path.is_dir() else [path]
        for file in (f for f in files if f.suffix in (".list", ".sources")):
            text = re.sub(r"^Types:.*", "Types: deb-src", file.read_text(), flags=re.M)
            text = re.sub(r"^deb\b", "deb-src", text, flags=re.M)
            (apt / "sources" / file.name).write_text(text)
    options = (
        *("-o", "Dir::Etc::sourcelist=/dev/null"),
        *("-o", f"Dir::Etc::sourceparts={apt / 'sources'}"),
        *("-o", f"Dir::State::lists={apt / 'lists'}", "-o", "APT::Sandbox::User=root"),
    )
    call("apt-get", *options, "update", "-q")
    name = f"python{PYTHON}"
    shown = call("apt-cache", *options, "showsrc", name)
    versions = re.findall(r"^Version: (\S+)", shown, re.M)
    fetch = ("apt-get", *options, "source", "-q", "--download-only")
    for number, version in enumerate(versions, 1):  # a mirror may lack the newest
        last = number == len(versions)
        call(*fetch, f"{name}={version}", cwd=work, may_fail=not last)
        if found := list(work.glob("*.dsc")):
            call("dpkg-source", "-x", found[0], work / "python", cwd=work)
            break
    return work / "python"


def fetch_libraries(work: Path) -> Path:
    """Unpack static libraries and their headers, apart from those of the system."""
    unpacked, made = work / "unpacked", work / "libraries"
    call("apt-get", "download", "-q", *DEVELOPMENT, cwd=work)
    for package in work.glob("*.deb"):
        call("dpkg-deb", "-x", package, unpacked)
    triplet = call("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    headers = unpacked / "usr" / "include"
    shutil.copytree(headers / "openssl", made / "include" / "openssl")
    for extra in ("openssl", "."):
        for file in (headers / triplet / extra).glob("*.h"):
            shutil.copy(file, made / "include" / extra)
    for file in headers.glob("*.h"):
        shutil.copy(file, made / "include")
    (made / "lib").mkdir()
    for name in LIBRARIES:
        shutil.copy(unpacked / "usr" / "lib" / triplet / name, made / "lib")
    return made


def make_compiler(work: Path) -> Path:
    """Install the compiler; give a command that compiles for the old glibc."""
    venv.create(work / "tools", with_pip=True)
    call(work / "tools" / "bin" / "pip", "install", "-q", COMPILER)
    zig = next((work / "tools" / "lib").glob("*/site-packages/ziglang/zig"))
    target = f"{platform.machine()}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
    for name, words in {
        "cc": f"cc -target {target} -fno-sanitize=undefined -Wno-date-time",
        "ar": "ar",
    }.items():
        script = work / name
        script.write_text(f'#!/bin/sh\nexec "{zig}" {words} "$@"\n')
        script.chmod(0o755)
    return work


def build_program(python: Path, libraries: Path, compiler: Path) -> Path:
    """Compile CPython with our `main`; give the executable, still without a library."""
    variables = {
        "CC": compiler / "cc",
        "AR": compiler / "ar",
        "RANLIB": "true",
        "MODULE_BUILDTYPE": "static",
        "OPT": "-O3 -DNDEBUG",
        "CPPFLAGS": f"-I{libraries}/include",
        "LDFLAGS": f"-s -L{libraries}/lib",
        "ZLIB_CFLAGS": f"-I{libraries}/include",
        "ZLIB_LIBS": f"-L{libraries}/lib -lz",
        "ZIG_GLOBAL_CACHE_DIR": compiler / "cache",
    }
    options = ["--prefix=/nonexistent", "--disable-shared", "--without-ensurepip"]
    options += ["--disable-test-modules", f"--with-openssl={libraries}"]
    options += [f"py_cv_module_{name}=n/a" for name in ABSENT]
    call("./configure", "-q", *options, cwd=python, env=variables)
    modules = (python / "Modules" / "Setup.stdlib").read_text() + CTYPES
    modules = modules.replace("*shared*", "*static*")
    (python / "Modules" / "Setup.local").write_text(modules)
    shutil.copy(HERE / "main.c", python / "Programs" / "python.c")
    jobs = f"-j{os.cpu_count() or 1}"
    call("make", jobs, "python", cwd=python, env=variables)
    return python / "python"


def install_packages(work: Path) -> Path:
    """Install ourselves and what we need, wheels for the old glibc; give the folder."""
    site = work / "site"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["view"], *extras["serve"]]
    machine = platform.machine()
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC[1], 4, -1)]
    platforms += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010")]
    choice = [f"--platform={name}" for name in platforms]
    choice += [f"--python-version={PYTHON}", "--implementation=cp"]
    pip = (work / "tools" / "bin" / "pip", "install", "-q", "--target", site)
    call(*pip, "--only-binary=:all:", *choice, *needed)
    call(*pip, "--no-deps", ROOT)
    shutil.copy(HERE / "memory_extensions.py", site)
    return site


def copy_licenses(work: Path, python: Path, site: Path) -> None:
    """Carry the licenses of what is linked in; those of packages are beside them."""
    target = site / "licenses"
    target.mkdir()
    shutil.copy(python / "LICENSE", target / "python")
    for path in (work / "unpacked" / "usr" / "share" / "doc").glob("*/copyright"):
        shutil.copy(path, target / path.parent.name.removesuffix("-dev"))


def needed_glibc(path: Path) -> tuple[int, int]:
    """Give the newest version of glibc whose symbols a file wants."""
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", call("objdump", "-T", path))
    return max(((int(major), int(minor)) for major, minor in found), default=(0, 0))


def build(work: Path, out: Path) -> None:
    """Build it from nothing."""
    say("sources and compiler")
    python, libraries = fetch_sources(work), fetch_libraries(work)
    compiler = make_compiler(work)
    say("CPython (some minutes)")
    program = build_program(python, libraries, compiler)
    say("packages")
    site = install_packages(work)
    copy_licenses(work, python, site)
    library = python / "Lib"
    path = f"{library}:{HERE}"  # the program makes its own zip, by its own Python
    call(program, "-m", "bundle", library, site, work / "zip", env={"PYTHONPATH": path})
    for file in (program, *site.rglob("*.so")):
        if needed_glibc(file) > GLIBC:
            sys.exit(f"{file.name} needs glibc {needed_glibc(file)}")
    made = out.with_name(f"{out.name}.new")
    made.write_bytes(program.read_bytes() + (work / "zip").read_bytes())
    made.chmod(0o755)
    made.rename(out)
    size = out.stat().st_size / 1e6
    say(f"{out}: {size:.1f} MB, {call(out.resolve(), '--version').strip()}")


def main() -> None:
    """Read the command line and build in a folder that is removed afterwards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--work", type=Path, help="a new folder to build in, and keep")
    given = parser.parse_args()
    if given.work:
        given.work.mkdir(parents=True)
        build(given.work.resolve(), given.out)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), given.out)


if __name__ == "__main__":
    main()

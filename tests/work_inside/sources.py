# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The source of each project, got outside with its registry's ordinary client and kept in a cache.
No registry is named here: which one is asked is the client's own setting."""

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openworker-work-inside"
PATH = "/usr/local/bin:/usr/bin:/bin"
FETCH_S = 600


class Unavailable(Exception):
    """The source cannot be had here: says why."""


def _client(argv, cwd, **more):
    """The client as the person has it set up, but with the programs that both sides use."""
    env = {**os.environ, "PATH": PATH, **more}
    try:
        done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                              timeout=FETCH_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(argv[:3])}: {done.stderr.strip()[-500:]}")
    return done.stdout


def _one(place, pattern):
    found = sorted(place.glob(pattern))
    if len(found) != 1:
        raise Unavailable(f"{len(found)} files {pattern} where one was expected")
    return found[0]


def _strip(place):
    """What is in the one directory that an archive is wrapped in."""
    inner = [path for path in place.iterdir() if path.is_dir()]
    return inner[0] if len(inner) == 1 and len(list(place.iterdir())) == 1 else place


def _python(name, version, place):
    _client(["/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name,
             "-d", str(place), f"{name}=={version}"], place)
    return _one(place, "*.tar.gz")


def _npm(name, version, place):
    _client(["npm", "pack", "--silent", f"{name}@{version}"], place)
    return _one(place, "*.tgz")


def _go(name, version, place):
    said = _client(["/usr/bin/go", "mod", "download", "-json", f"{name}@{version}"], place,
                   GOPATH=str(CACHE / "go"), GOFLAGS="-modcacherw")
    return Path(json.loads(said)["Zip"])


def _rust(name, version, place):
    (place / "src").mkdir()
    (place / "src/lib.rs").touch()
    (place / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
        f'[dependencies]\n{name} = "={version}"\n')
    home = CACHE / "cargo"
    home.mkdir(exist_ok=True)
    own = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "config.toml"
    if own.exists():
        shutil.copy(own, home / "config.toml")
    _client(["/usr/bin/cargo", "fetch", "-q"], place, CARGO_HOME=str(home))
    return _one(home, f"registry/cache/*/{name}-{version}.crate")


def _debian(name, version, place):
    """With a list of sources of its own, made from the machine's: these often name no sources."""
    parts = place / "parts"
    parts.mkdir()
    for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if path.suffix not in (".list", ".sources") or not path.exists():
            continue
        text = path.read_text()
        if "debian" not in text:
            continue
        text = re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.M)
        (parts / path.name).write_text(re.sub(r"^deb\s", "deb-src ", text, flags=re.M))
    (place / "lists/partial").mkdir(parents=True)
    options = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}",
               "-o", f"Dir::State::Lists={place}/lists", "-o", f"Dir::Cache={place}",
               "-o", "APT::Sandbox::User=", "-q"]
    _client(["apt-get", *options, "update"], place)
    _client(["apt-get", *options, "source", "--only-source", f"{name}={version}"], place)
    source = [path for path in place.iterdir() if (path / "debian").is_dir()]
    if len(source) != 1:
        raise Unavailable("apt-get source left no source")
    kept = place / f"{name}.tar.gz"
    with tarfile.open(kept, "w:gz") as archive:
        archive.add(source[0], arcname=source[0].name)
    return kept


def _folder(name, version, place):
    """A directory of this machine, for the suite's own tests and for trying a project out."""
    kept = place / "folder.tar"
    with tarfile.open(kept, "w") as archive:
        archive.add(name, arcname=Path(name).name)
    return kept


FETCHERS = {"folder": _folder, "python": _python, "npm": _npm, "go": _go, "rust": _rust, "debian": _debian}


def fetch(kind, name, version):
    """The archive of a project, from the cache where it was got before."""
    CACHE.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^\w.-]", "_", f"{kind}-{name}-{version}")
    for kept in CACHE.glob(stem + ".*"):
        if kind != "folder":
            return kept
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetch-") as place:
        got = FETCHERS[kind](name, version, Path(place))
        kept = CACHE / (stem + (".zip" if got.suffix == ".zip" else ".tar"))
        shutil.copy(got, kept.with_suffix(".new"))
        os.replace(kept.with_suffix(".new"), kept)
    return kept


def unpack(archive, target):
    """Into the new directory @target, without the directories that the archive is wrapped in."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="unpack-") as scratch:
        scratch = Path(scratch)
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(scratch)
        else:
            subprocess.run(["tar", "-x", "--no-same-owner", "-f", str(archive), "-C", str(scratch)],
                           check=True, timeout=FETCH_S)
        source = scratch
        while _strip(source) != source:
            source = _strip(source)
        shutil.move(source, target)

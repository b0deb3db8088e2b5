# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""Runs one fuzz target for a while from its kept corpus, or keeps what a run has found.

    run.py PROGRAM SECONDS          fuzz; a fault's input stays beside PROGRAM
    run.py PROGRAM --keep DIR…      merge what is in DIR into the kept corpus

The corpus of fuzz-NAME is corpus/NAME-* (what a person wrote: well-formed inputs, which chance
finds late) and corpus/NAME.tar.xz (what earlier runs found, merged to the fewest inputs that reach
the same code).
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
MAX_BYTES = 65536
# A slow machine's margin over the time that the fuzzer is given.
MARGIN_SECONDS = 100


def unpack(name, directory):
    """Copies the kept inputs of @name into @directory; how many there are."""
    n = 0
    for path in sorted(CORPUS.glob(f"{name}-*")):
        (directory / path.name).write_bytes(path.read_bytes())
        n += 1
    packed = CORPUS / f"{name}.tar.xz"
    if packed.exists():
        with tarfile.open(packed) as archive:
            for member in archive:
                if not member.isfile():
                    continue
                (directory / f"kept-{n}").write_bytes(archive.extractfile(member).read())
                n += 1
    return n


def pack(name, directory):
    """Writes the inputs in @directory as the corpus, the same bytes for the same inputs."""
    with tarfile.open(CORPUS / f"{name}.tar.xz", "w:xz", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(directory.iterdir()):
            info = tarfile.TarInfo(path.name[:12])
            info.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(info, file)


def fuzz(program, name, seconds):
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        corpus = Path(directory)
        n = unpack(name, corpus)
        print(f"fuzz-{name}: {seconds} s from {n} kept inputs", flush=True)
        # Quiet: each new input would be a line.
        return subprocess.run(
            [program, str(corpus), f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}",
             "-rss_limit_mb=1024", "-print_final_stats=1", "-verbosity=0",
             f"-artifact_prefix={program}-"],
            timeout=seconds + MARGIN_SECONDS, check=False).returncode


def keep(program, name, found):
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        kept, merged = Path(directory, "kept"), Path(directory, "merged")
        kept.mkdir()
        merged.mkdir()
        unpack(name, kept)
        status = subprocess.run(
            [program, "-merge=1", f"-max_len={MAX_BYTES}", "-rss_limit_mb=1024", str(merged),
             str(kept), *found], check=False).returncode
        if status == 0:
            pack(name, merged)
            print(f"fuzz-{name}: {len(list(merged.iterdir()))} inputs are kept")
        return status


def main(argv):
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(argv[1])
    name = os.path.basename(program).removeprefix("fuzz-")
    if argv[2] == "--keep":
        return keep(program, name, argv[3:])
    return fuzz(program, name, int(argv[2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv))

# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The files of the working tree, and copies of them to try things on."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files(root=ROOT):
    """Relative paths of what belongs to the tree: tracked, or new and not ignored."""
    # The tree may belong to another account than the one that runs the suites.
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z",
         "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if listed.returncode == 0:
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        names = list(_walk(root))
    return sorted({name for name in names
                   if (Path(root) / name).is_file() or (Path(root) / name).is_symlink()})


def _walk(root):
    """The same without git: an unpacked archive holds only files of the tree."""
    for directory, below, names in os.walk(root):
        below[:] = [name for name in below
                    if name not in (".git", "__pycache__", ".pytest_cache")
                    and not (Path(directory) == Path(root) and name.startswith("build"))]
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), root)


def copy(target, root=ROOT):
    """Copies the tree to @target, times kept so that an incremental build stays one."""
    for name in files(root):
        destination = Path(target) / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(Path(root) / name, destination, follow_symlinks=False)

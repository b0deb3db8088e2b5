# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""An /etc with files of one's own, for programs in a private mount namespace."""

import subprocess


def own_etc(place, files):
    """Puts a copy of /etc with @files ({name: text}) over it. A bare machine may lack /etc/hosts
    and the like, so there may be nothing to put a single file over."""
    etc = place / "etc"
    # What this account may not read (shadow) is left out, and cp says so.
    subprocess.run(["cp", "-r", "--preserve=links,mode", "/etc", etc], check=False,
                   stderr=subprocess.DEVNULL)
    for name, text in files.items():
        (etc / name).unlink(missing_ok=True)
        (etc / name).write_text(text)
    subprocess.run(["mount", "--bind", etc, "/etc"], check=True)

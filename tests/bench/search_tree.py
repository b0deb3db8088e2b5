# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A tree to be searched: 100,000 files with 1 GiB of text in them, the same each time.

    search_tree.py PATH [FILES [MIB]]
"""

import random
import sys
from pathlib import Path

FILES = 100_000
MIB = 1024
SUFFIXES = (".c", ".h", ".py", ".rs", ".md", ".txt", ".json", ".js")
# One file in so many …
WITH_RARE = 2_000       # … has RARE, and R7QX4, whose shape no other name has
BINARY = 500
RARE = "zanzibar_quota"
KEYWORDS = ("if return static const struct while for int char void import from def class self fn "
            "let mut pub impl match").split()
POOL_LINES = 60_000


def words(chance):
    """Names as programs have them: none is RARE, and none holds a digit followed by a capital."""
    letters = "etaoinshrdlucmfwypvbgkjq"
    made = []
    for _ in range(4_000):
        parts = ["".join(chance.choices(letters, range(len(letters), 0, -1),
                                        k=chance.randint(2, 8)))
                 for _ in range(chance.choice((1, 1, 2, 2, 3)))]
        made.append("_".join(parts) if chance.random() < .8
                    else "".join(part.title() for part in parts))
    return made


def pool(chance, names):
    """Lines that files are cut from."""
    lines = []
    for _ in range(POOL_LINES):
        n = chance.choice((0, 1, 3, 5, 7, 9, 12))
        line = " " * chance.choice((0, 2, 4, 4, 8)) + " ".join(
            chance.choice(KEYWORDS) if chance.random() < .3 else chance.choice(names)
            for _ in range(n))
        if n > 3:
            line += chance.choice((" (", " = ", ";", " {", " + 17;", " (0x1f);"))
        lines.append(line.rstrip() + "\n")
    return lines


def make(top, files=FILES, mib=MIB):
    """Makes the tree below @top and returns how many files hold RARE."""
    chance = random.Random(20240607)
    names = words(chance)
    lines = pool(chance, names)
    text = "".join(lines).encode()
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    mean = mib * 2**20 / files
    rare = 0
    for number in range(files):
        # 40 files a folder, 25 folders a folder.
        folder = top / f"part{number // 25_000}" / f"area{number // 1_000:03}" / (
            f"unit{number // 40:04}")
        if number % 40 == 0:
            folder.mkdir(parents=True)
        if number % 1_000 == 0:
            (folder.parent / ".gitignore").write_text("*.o\n/build/\n*.tmp\n")
        # Most are small and a few are large, as in any tree of programs.
        size = int(min(chance.lognormvariate(0, 1.1) / 1.83 * mean, 40 * mean))
        begin = starts[chance.randrange(POOL_LINES)]
        data = (text[begin:] + text * (size // len(text) + 1))[:size] + b"\n"
        if number % WITH_RARE == 7:
            cut = data.rfind(b"\n", 0, len(data) // 2) + 1
            data = data[:cut] + f"  {RARE} = R7QX4;\n".encode() + data[cut:]
            rare += 1
        elif number % BINARY == 3:
            data = b"\x7fBIN\0\0" + data
        (folder / f"{names[number % len(names)]}_{number}{SUFFIXES[number % len(SUFFIXES)]}"
         ).write_bytes(data)
    return rare


if __name__ == "__main__":
    print(make(Path(sys.argv[1]), *map(int, sys.argv[2:])))

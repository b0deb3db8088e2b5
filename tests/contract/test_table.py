# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""The page that lists the contract has a row for each test, and no other."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/openshell-contract.md"
# These compare the simulation with recordings, or are this file.
OTHERS = {"recordings", "table"}


def rows():
    """[[the six cells of a row]] of all tables of the contract."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    split = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
             for line in lines if line.startswith("| ")]
    return [row for row in split if len(row) == 6 and row[0] != "behaviour"]


def test_every_test_has_its_row_and_every_row_its_test():
    tests = sorted(
        f"`{path.stem.removeprefix('test_')}::{name}`"
        for path in HERE.glob("test_*.py") if path.stem.removeprefix("test_") not in OTHERS
        for name in re.findall(r"^def test_(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert sorted(row[1] for row in rows()) == tests


def test_every_row_is_filled():
    for row in rows():
        assert all(row), row
        assert re.fullmatch(r"\d+\.\d+\.\d+\S*, \d{4}-\d\d-\d\d", row[3]), row
        assert row[4] == "yes", row


def test_every_file_that_relies_is_there():
    for row in rows():
        for name in re.findall(r"\bow-[\w-]+\.c\b", row[2]):
            assert list((HERE.parents[1] / "src").glob(f"*/{name}")), (name, row)

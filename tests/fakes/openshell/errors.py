# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""How a call fails."""

import argparse

import text


class Failure(Exception):
    """An error for stderr: the causes of its box."""

    def __init__(self, *causes):
        super().__init__(causes[0])
        self.causes = causes


class Usage(Exception):
    """Arguments that the command does not know."""


class Dropped(Exception):
    """The connection ends here, without an answer."""


def refused(code, message):
    return Failure(text.status_text(code, message))


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise Usage(message)

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

/* A shell command line read as one simple command, or not at all. Accepted is a command name and
 * its words, of literal characters, single quotes, and double quotes and backslashes around what
 * is literal in every POSIX shell and bash. Anything that a shell would expand, join, redirect,
 * assign, glob, comment, run in the background or take as a keyword is refused: then NULL. Refused
 * as well are newlines, control and invisible characters, and more than 4,096 bytes. Any thread. */
char **ow_simple_command_parse (const char *command);

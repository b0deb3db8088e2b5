/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

/* The probes of the escape bench: a static program without dependencies that runs unchanged outside
 * and behind each wall. It tries to reach what world.py has set up outside, which it knows from a
 * plan of KEY=VALUE lines, and writes a line for each probe: its name, what came of it, and words.
 *
 * Threads: one. Each probe runs in a child of its own with a deadline, so none spoils another. */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum {
  HELD,  /* it was tried and refused */
  OPEN,  /* it came through; the bench looks outside whether it did where that can be seen */
  VOID,  /* the plan has nothing to try it on */
  INFO,  /* a fact, not a verdict */
} Verdict;

typedef struct {
  const char *name;
  Verdict   (*run)(void);
} Probe;

extern const Probe file_probes[];
extern const Probe process_probes[];
extern const Probe kernel_probes[];
extern const Probe socket_probes[];

/* The value that the plan has for @key; NULL: none. The plan's own until the program ends. */
const char *plan_get (const char *key);
long        plan_number (const char *key);

/* Sets the words of the line; printf's. */
void    say (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
/* As say, with what errno means; always HELD. */
Verdict refused (const char *what);

/* Whether @length bytes at @data hold the run's token. */
bool    has_token (const char *data, size_t length);
/* OPEN when @fd, which is closed, gives the token within its first megabyte. */
Verdict token_from (int fd, const char *what);
/* As above of the file @path, relative to @dir (AT_FDCWD). */
Verdict token_at (int dir, const char *path);
/* Makes the file and puts a word in; left where it is, for the bench to look at. */
Verdict leave (const char *path);
/* A path of the plan's folder with @name below it; static memory, overwritten by the next call. */
const char *in_folder (const char *name);

/* Modes of the program that are no probes. */
int victim_main (int argc, char **argv);
int share_main (int argc, char **argv);
int launch_main (int argc, char **argv);

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* The program's commands. Each returns the exit status. */

#define OW_RUNNER_EXIT_USAGE 2

/* serve; @argv begins after the word. */
int ow_runner_serve   (int    argc,
                       char **argv);
int ow_runner_attach  (int    argc,
                       char **argv);
int ow_runner_connect (int    argc,
                       char **argv);

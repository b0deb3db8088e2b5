/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* Named states for tests that kill the program at an exact point: when the
 * environment variable OPENWORKER_TEST_STATE equals @name, or is "NAME:2" and it is reached for
 * the second time, the process writes "state NAME" to stderr and stops itself (SIGSTOP) there,
 * for the test to end it with SIGKILL or let it go on with SIGCONT. Otherwise one comparison of a
 * cached pointer. */
void ow_state_reach (const char *name);

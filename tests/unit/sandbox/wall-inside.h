/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* The part of test-wall.c that stands in the runner's place inside a wall and tries
 * what must not work. What it found goes to "report" in the first folder: a line "FAIL …"
 * for each thing that is not as it must be, and a last line "END". */
int wall_inside_main (int argc, char **argv);

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "consent/ow-simple-command.h"

/* The one text that stands for @words: what a person is shown before "always". A shell, and
 * ow_simple_command_parse(), reads the same words out of it. */
char    *ow_simple_command_join         (const char * const *words);
/* TRUE: @words do the same whenever they are run, as far as the shell is concerned. FALSE for
 * builtins that act on the shell itself, on what it runs later, or by what it has become. */
gboolean ow_simple_command_can_be_rule  (const char * const *words);

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "ow-face-private.h"

/* Gets a model's key from the person: never from the command line, where every program of the
 * machine can read it. Main thread. */

/* @key (nullable: none was given) is wiped when it returns. */
typedef void (*OwKeyInputFunc) (OwFace     *face,
                                const char *key,
                                gpointer    user_data);
/* From stdin with @from_stdin, else asked for at the terminal where there is one. What is no key
 * at all ends the face. */
void ow_key_input_read (OwFace         *face,
                        gboolean        from_stdin,
                        OwKeyInputFunc  func,
                        gpointer        user_data);

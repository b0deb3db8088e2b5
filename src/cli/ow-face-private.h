/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-engine.h"

/* What every command of the command-line face works with: the engine, the one main
 * loop, and the exit status the loop ends with. Main thread. */
typedef struct
{
  OwEngine  *engine; /* (owned) */
  GMainLoop *loop;   /* (owned) */
  int        status;
} OwFace;

/* A command: parses its words (argv[0] is its name), starts what it does and returns;
 * it ends by ow_face_finish(), at once or later. */
typedef void (*OwFaceCommand) (OwFace *face,
                               int     argc,
                               char  **argv);

/* Ends the main loop with this exit status. The first call counts. */
void     ow_face_finish    (OwFace        *face,
                            int            status);
/* Prints @error for a person and ends with the status of its kind. */
void     ow_face_fail      (OwFace        *face,
                            const GError  *error);
/* The same for a mistake in the command line, with a pointer to --help. */
void     ow_face_usage     (OwFace        *face,
                            const char    *format,
                            ...) G_GNUC_PRINTF (2, 3);
/* Parses options, anywhere or, with @leading_only, in front of the first other word. FALSE: the
 * face has been finished (bad options, or --help was printed). Words left over stay in @argv. */
gboolean ow_face_parse     (OwFace              *face,
                            const char          *parameters,
                            const char          *summary,
                            const GOptionEntry  *entries,
                            gboolean             leading_only,
                            int                 *argc,
                            char              ***argv);
/* The word after a command's name that says which of its ways is meant, taken off @argv;
 * (nullable) borrowed. */
const char *ow_face_take_verb (int     *argc,
                               char  ***argv);
/* @words, NULL-terminated, as a list of texts: (new reference). */
json_t  *ow_face_words     (char         **words);
/* Runs one engine command whose failure ends the face; @done gets the result. */
typedef void (*OwFaceResult) (OwFace       *face,
                              const json_t *result,
                              gpointer      user_data);
void     ow_face_command   (OwFace        *face,
                            const char    *command,
                            json_t        *params,
                            OwFaceResult   done,
                            gpointer       user_data);
/* Prints @value as one line of JSON on stdout. */
void     ow_face_print_json (const json_t *value);

void ow_command_run           (OwFace *face, int argc, char **argv);
void ow_command_sandbox_exec  (OwFace *face, int argc, char **argv);
void ow_command_sandbox_prove (OwFace *face, int argc, char **argv);
void ow_command_sessions      (OwFace *face, int argc, char **argv);
void ow_command_audit         (OwFace *face, int argc, char **argv);

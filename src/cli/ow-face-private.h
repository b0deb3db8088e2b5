/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "engine/ow-shared-engine.h"

/* What every command of the command-line face works with: the engine, the one main
 * loop, and the exit status the loop ends with. Main thread. */
typedef struct
{
  OwFaceKind      kind;   /* which engine the command needs; its own until the engine is made */
  OwSharedEngine *engine; /* (owned) (nullable) made by ow_face_get_engine() */
  GMainLoop      *loop;   /* (owned) */
  int             status;
  gboolean        parks;  /* what runs in this process is parked when it leaves, not waited for */
} OwFace;

/* A command: parses its words (argv[0] is its name), starts what it does and returns;
 * it ends by ow_face_finish(), at once or later. */
typedef void (*OwFaceCommand) (OwFace *face,
                               int     argc,
                               char  **argv);

/* Ends the main loop with this exit status. The first call counts. */
void     ow_face_finish    (OwFace        *face,
                            int            status);
/* Prints @error for a person and ends with the status of its kind; nothing more where the face
 * has ended already. */
void     ow_face_fail      (OwFace        *face,
                            const GError  *error);
/* The same for an answer that is none to what was asked. */
void     ow_face_fail_data (OwFace        *face);
/* Whether @result says that there is more than came from @from on, which is then raised. An
 * engine that does not get on is not asked forever: that ends the face. */
gboolean ow_face_has_more  (OwFace        *face,
                            const json_t  *result,
                            json_int_t    *from);
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
/* @path as it is seen from anywhere, because the engine may work elsewhere: (transfer full). */
char    *ow_face_path      (const char    *path);

/* The engine, joined or made by the first call; borrowed. Commands may be given at once. An
 * engine that cannot be had ends the face. */
OwEngine *ow_face_get_engine (OwFace       *face);
/* Calls @func once it is known what the engine is (ow_face_is_alone()). */
typedef void (*OwFaceOpened) (OwFace   *face,
                              gpointer  user_data);
void     ow_face_open      (OwFace        *face,
                            OwFaceOpened   func,
                            gpointer       user_data);
/* There is no engine on this machine besides what this one command made for itself. */
gboolean ow_face_is_alone  (OwFace        *face);

/* Runs one engine command whose failure ends the face; @done gets the result. */
typedef void (*OwFaceResult) (OwFace       *face,
                              const json_t *result,
                              gpointer      user_data);
void     ow_face_command   (OwFace        *face,
                            const char    *command,
                            json_t        *params,
                            OwFaceResult   done,
                            gpointer       user_data);
/* The same where a failure is only said on stderr, or with @quiet not even that. */
void     ow_face_send      (OwFace        *face,
                            const char    *command,
                            json_t        *params,
                            gboolean       quiet);
/* Prints @value as one line of JSON on stdout. */
void     ow_face_print_json (const json_t *value);

void ow_command_approvals     (OwFace *face, int argc, char **argv);
void ow_command_attach        (OwFace *face, int argc, char **argv);
void ow_command_audit         (OwFace *face, int argc, char **argv);
void ow_command_credential    (OwFace *face, int argc, char **argv);
void ow_command_machine_sandbox (OwFace *face, int argc, char **argv);
void ow_command_model         (OwFace *face, int argc, char **argv);
void ow_command_run           (OwFace *face, int argc, char **argv);
void ow_command_sandbox_allow (OwFace *face, int argc, char **argv);
void ow_command_sandbox_delete (OwFace *face, int argc, char **argv);
void ow_command_sandbox_exec  (OwFace *face, int argc, char **argv);
void ow_command_sandbox_explain (OwFace *face, int argc, char **argv);
void ow_command_sandbox_list  (OwFace *face, int argc, char **argv);
void ow_command_sandbox_traffic (OwFace *face, int argc, char **argv);
void ow_command_sandbox_logs  (OwFace *face, int argc, char **argv);
void ow_command_sandbox_programs (OwFace *face, int argc, char **argv);
void ow_command_sandbox_prove (OwFace *face, int argc, char **argv);
void ow_command_sandbox_reap  (OwFace *face, int argc, char **argv);
void ow_command_sandbox_show  (OwFace *face, int argc, char **argv);
void ow_command_sessions      (OwFace *face, int argc, char **argv);
void ow_command_sessions_changes (OwFace *face, int argc, char **argv);
void ow_command_sessions_folders (OwFace *face, int argc, char **argv);
void ow_command_sessions_undo (OwFace *face, int argc, char **argv);
void ow_command_status        (OwFace *face, int argc, char **argv);
void ow_command_up            (OwFace *face, int argc, char **argv);

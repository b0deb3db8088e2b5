/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "openshell/ow-openshell-error.h"

/* The `openshell` command of this account: the only place that knows its arguments and its
 * answers (docs/openshell-contract.md). Each call is one process with stdin from /dev/null, a
 * deadline of its own and capped output; what it prints is data. Calls are independent and may run
 * side by side. Errors are OW_OPENSHELL_ERROR, OW_ERROR_INTERRUPTED for a cancelled call.
 *
 * Final GObject, the thread of the engine; the thread's default main context. */

/* The release that the program was tested with. */
#define OW_OPENSHELL_VERSION "0.0.116"

#define OW_TYPE_OPENSHELL (ow_openshell_get_type ())
G_DECLARE_FINAL_TYPE (OwOpenshell, ow_openshell, OW, OPENSHELL, GObject)

/* The first `openshell` on PATH, else /usr/bin, /usr/local/bin, ~/.local/bin and /snap/bin;
 * NULL with fault NOT_INSTALLED. */
OwOpenshell        *ow_openshell_find         (GError **error);
OwOpenshell        *ow_openshell_new          (const char *program);
const char         *ow_openshell_get_program  (OwOpenshell *self);
/* The whole environment that every call gets: home, XDG directories, PATH and OPENSHELL_* of this
 * process, no proxy, no colours, LC_ALL=C.UTF-8. Borrowed. */
const char * const *ow_openshell_get_environment (OwOpenshell *self);
/* From now on every call is for the gateway @name, also when the person chooses another one for
 * the account meanwhile. Nothing changes where OPENSHELL_GATEWAY_ENDPOINT says already which one
 * it is, or where @name is empty. */
void                ow_openshell_pin_gateway  (OwOpenshell *self, const char *name);
/* (nullable): the name that calls are pinned to. Borrowed. */
const char         *ow_openshell_get_pinned   (OwOpenshell *self);

/* --- what it is, and the gateway --- */

/* (transfer full) the version's text. An answer without one is fault NOT_INSTALLED. */
void  ow_openshell_version_async  (OwOpenshell *self, GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
char *ow_openshell_version_finish (OwOpenshell *self, GAsyncResult *result, GError **error);

typedef struct {
  char     *gateway;        /* (owned) its name here */
  char     *server;         /* (owned) */
  char     *version;        /* (owned) the gateway's own */
  char     *authentication; /* (owned) "not_required", "authenticated", … */
} OwOpenshellStatus;
void ow_openshell_status_free (OwOpenshellStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenshellStatus, ow_openshell_status_free)
/* Succeeds only where the gateway is ready for us: connected, and authenticated or not asking for
 * it. Everything else is an error with its fault. */
void               ow_openshell_status_async  (OwOpenshell *self, GCancellable *cancellable,
                                               GAsyncReadyCallback callback, gpointer user_data);
OwOpenshellStatus *ow_openshell_status_finish (OwOpenshell *self, GAsyncResult *result,
                                               GError **error);
/* The text form of releases without `-o json`; NULL with @error as above. Pure. */
OwOpenshellStatus *ow_openshell_status_from_text (const char *text, GError **error);

typedef struct {
  char     *driver;         /* (owned) "docker", "podman", "kubernetes", … */
  char     *driver_version; /* (owned) (nullable) */
  char     *version;        /* (owned) the gateway's */
  gboolean  remote;         /* not on this machine: its disk and images cannot be asked */
} OwOpenshellGateway;
void ow_openshell_gateway_free (OwOpenshellGateway *gateway);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenshellGateway, ow_openshell_gateway_free)
void                ow_openshell_gateway_async  (OwOpenshell *self, GCancellable *cancellable,
                                                 GAsyncReadyCallback callback,
                                                 gpointer user_data);
OwOpenshellGateway *ow_openshell_gateway_finish (OwOpenshell *self, GAsyncResult *result,
                                                 GError **error);

/* --- sandboxes --- */

/* All borrowed. */
typedef struct {
  const char         *name;         /* "ow-" and 12 hex digits */
  const char         *image;
  const char         *policy_file;  /* full path */
  const char         *driver_config;/* JSON, see openshell/ow-openshell-mounts.h */
  const char * const *labels;       /* (nullable) "key=value" */
  const char * const *environment;  /* (nullable) "NAME=value" for the main command */
  const char         *cpu;          /* (nullable) */
  const char         *memory;       /* (nullable) */
  const char * const *command;      /* the main command, full path first */
} OwOpenshellSpec;

/* The argument vector of `sandbox create` for @spec, without the program: always --no-tty,
 * --detach and --no-auto-providers. (transfer full) Pure. */
char **ow_openshell_create_arguments (const OwOpenshellSpec *spec);
/* One line of progress, plain text. */
typedef void (*OwOpenshellProgressFunc) (const char *line, gpointer user_data);
/* Completes when the sandbox is in phase Ready. Once begun it may exist whatever the outcome: the
 * caller deletes it by its name. */
void     ow_openshell_create_async  (OwOpenshell *self, const OwOpenshellSpec *spec,
                                     OwOpenshellProgressFunc progress, gpointer progress_data,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_openshell_create_finish (OwOpenshell *self, GAsyncResult *result, GError **error);

typedef struct {
  char       *name;           /* (owned) */
  char       *id;             /* (owned) */
  char       *phase;          /* (owned) as it was told; "Ready" proves nothing by itself */
  char       *created_at;     /* (owned) as it was told */
  GHashTable *labels;         /* (owned) text → text */
  gint64      policy_version; /* 0: not told. Each live change of the policy makes another one */
} OwOpenshellSandbox;
void ow_openshell_sandbox_free (OwOpenshellSandbox *sandbox);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwOpenshellSandbox, ow_openshell_sandbox_free)
void                ow_openshell_get_async  (OwOpenshell *self, const char *name,
                                             GCancellable *cancellable,
                                             GAsyncReadyCallback callback, gpointer user_data);
OwOpenshellSandbox *ow_openshell_get_finish (OwOpenshell *self, GAsyncResult *result,
                                             GError **error);
/* Whether a credential provider is attached to the sandbox: 1, 0, or -1 and an error. One command,
 * where what is asked above takes two. */
void                ow_openshell_has_providers_async  (OwOpenshell *self, const char *name,
                                                       GCancellable *cancellable,
                                                       GAsyncReadyCallback callback,
                                                       gpointer user_data);
int                 ow_openshell_has_providers_finish (OwOpenshell *self, GAsyncResult *result,
                                                       GError **error);
/* @selector (nullable): "key=value". (transfer full) array of OwOpenshellSandbox. */
void       ow_openshell_list_async  (OwOpenshell *self, const char *selector,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *ow_openshell_list_finish (OwOpenshell *self, GAsyncResult *result, GError **error);
/* One that is not there (any more) is deleted: no error. */
void     ow_openshell_delete_async  (OwOpenshell *self, const char *name,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_openshell_delete_finish (OwOpenshell *self, GAsyncResult *result, GError **error);

/* One shot, stdin empty. @deadline_ms bounds the whole call and is given to the gateway too. The
 * exit status (0 in @status only together with TRUE) can be the relay's as well as the command's:
 * it is a sign of life, never the result of a tool. */
void     ow_openshell_exec_async  (OwOpenshell *self, const char *name,
                                   const char * const *command, guint deadline_ms,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback, gpointer user_data);
/* @output (nullable, transfer full): what it wrote to stdout, at most 64 KiB. */
gboolean ow_openshell_exec_finish (OwOpenshell *self, GAsyncResult *result, int *status,
                                   GBytes **output, GError **error);
/* The whole argument vector of a live stream (stdin must be a terminal) and of a one-shot call
 * that reads stdin to its end (at most OW_OPENSHELL_STDIN_BYTES). (transfer full) Pure. */
char **ow_openshell_stream_argv (OwOpenshell *self, const char *name,
                                 const char * const *command);
char **ow_openshell_once_argv   (OwOpenshell *self, const char *name,
                                 const char * const *command);

/* Adds, or with @remove takes away, HOST:PORT for every program in the sandbox, and waits until
 * it is in force (1 to 9 s were measured). */
void     ow_openshell_allow_async  (OwOpenshell *self, const char *name, const char *host,
                                    guint16 port, gboolean remove, GCancellable *cancellable,
                                    GAsyncReadyCallback callback, gpointer user_data);
gboolean ow_openshell_allow_finish (OwOpenshell *self, GAsyncResult *result, GError **error);

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "files-fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Generous: what is looked for is memory or time that grows with the file. */
#define MAX_GROWTH_KB 65536
#define MAX_SECONDS   60

static void
add_folder (Files      *self,
            const char *path,
            bool        read_only)
{
  size_t n = self->roots.n++;

  self->folders[n] = path;
  self->read_only[n] = read_only;
  self->fds[n] = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (self->fds[n], >=, 0);
}

Files *
files_new (void)
{
  Files *self = g_new0 (Files, 1);

  self->top = g_dir_make_tmp ("ow-files-XXXXXX", NULL);
  g_assert_nonnull (self->top);
  self->work = g_build_filename (self->top, "work", NULL);
  self->outside = g_build_filename (self->top, "outside", NULL);
  g_assert_cmpint (g_mkdir (self->work, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (self->outside, 0755), ==, 0);
  g_assert_cmpint (g_mkdir (files_path (self, "work/frozen"), 0755), ==, 0);
  g_assert_cmpint (g_mkdir (files_path (self, "other"), 0755), ==, 0);
  files_put (self, "outside/secret", FILES_SECRET);
  add_folder (self, self->work, false);
  add_folder (self, g_intern_string (files_path (self, "work/frozen")), true);
  add_folder (self, g_intern_string (files_path (self, "other")), false);
  self->roots.folders = self->folders;
  self->roots.read_only = self->read_only;
  self->roots.fds = self->fds;
  self->keep.fd = -1;
  return self;
}

void
files_keep (Files *self)
{
  char error[OW_RUNNER_ERROR_SIZE] = "";

  g_assert_cmpint (g_mkdir (files_path (self, "undo"), 0700), ==, 0);
  if (!ow_runner_keep_open (&self->keep, files_path (self, "undo"), error))
    g_error ("%s", error);
  self->roots.keep = &self->keep;
}

static int
remove_one (const char        *path,
            const struct stat *status,
            int                flag,
            struct FTW        *where)
{
  return remove (path);
}

static void
clear_result (Files *self)
{
  free (self->result.text);
  json_decref (self->result.structured);
  memset (&self->result, 0, sizeof self->result);
}

void
files_free (Files *self)
{
  for (size_t i = 0; i < self->roots.n; i++)
    close (self->fds[i]);
  if (self->keep.fd >= 0)
    ow_runner_keep_close (&self->keep);
  nftw (self->top, remove_one, 64, FTW_DEPTH | FTW_PHYS);
  clear_result (self);
  g_free (self->top);
  g_free (self->work);
  g_free (self->outside);
  g_free (self);
}

const char *
files_path (Files      *self,
            const char *format,
            ...)
{
  static char *kept[16];
  static guint next;
  va_list arguments;
  char *below;

  va_start (arguments, format);
  below = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  next = (next + 1) % G_N_ELEMENTS (kept);
  g_free (kept[next]);
  kept[next] = g_build_filename (self->top, below, NULL);
  g_free (below);
  return kept[next];
}

void
files_put_bytes (Files      *self,
                 const char *path,
                 const char *content,
                 gsize       length)
{
  g_autofree char *folder = g_path_get_dirname (files_path (self, "%s", path));
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_file_set_contents (files_path (self, "%s", path), content, (gssize) length, &error);
  g_assert_no_error (error);
}

void
files_put (Files      *self,
           const char *path,
           const char *content)
{
  files_put_bytes (self, path, content, strlen (content));
}

char *
files_get (Files      *self,
           const char *path)
{
  char *content = NULL;

  if (!g_file_get_contents (files_path (self, "%s", path), &content, NULL, NULL))
    return NULL;
  return content;
}

void
files_link (Files      *self,
            const char *path,
            const char *target)
{
  g_assert_cmpint (symlink (target, files_path (self, "%s", path)), ==, 0);
}

static OwRunnerToolFunc
tool_named (const char *name)
{
  static const struct {
    const char      *name;
    OwRunnerToolFunc func;
  } tools[] = {
    { "list", ow_tool_list }, { "read", ow_tool_read }, { "write", ow_tool_write },
    { "edit", ow_tool_edit }, { "grep", ow_tool_grep }, { "glob", ow_tool_glob },
    { "undo", ow_tool_undo }, { "changes", ow_tool_changes },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (tools); i++)
    {
      if (g_str_equal (tools[i].name, name))
        return tools[i].func;
    }
  g_error ("no tool %s", name);
}

/* What holds of each answer: a terminated text of UTF-8 within the cap, and structured
 * content that JSON can carry. */
static void
check_answer (Files *self)
{
  OwRunnerToolResult *result = &self->result;

  g_assert_nonnull (result->text);
  g_assert_cmpuint (strlen (result->text), ==, result->length);
  g_assert_cmpuint (result->length, <=, OW_RUNNER_TEXT_MAX);
  g_assert_true (g_utf8_validate (result->text, (gssize) result->length, NULL));
  g_assert_true (result->is_error || result->structured != NULL);
  if (result->structured != NULL)
    {
      char *dump = ow_json_dump (result->structured, NULL);

      g_assert_nonnull (dump);
      free (dump);
    }
}

const char *
files_call_json (Files      *self,
                 const char *tool,
                 json_t     *arguments)
{
  clear_result (self);
  tool_named (tool) (&self->roots, arguments, &self->result);
  json_decref (arguments);
  check_answer (self);
  return self->result.text;
}

static json_t *
parse (const char *text)
{
  char error[OW_WIRE_ERROR_SIZE] = "";
  json_t *value = ow_json_parse (text, strlen (text), error);

  if (value == NULL)
    g_error ("%s in %s", error, text);
  return value;
}

const char *
files_call (Files      *self,
            const char *tool,
            const char *arguments,
            ...)
{
  g_autofree char *text = NULL;
  va_list list;

  va_start (list, arguments);
  text = g_strdup_vprintf (arguments, list);
  va_end (list);
  g_strdelimit (text, "'", '"');
  return files_call_json (self, tool, parse (text));
}

json_int_t
files_int (Files      *self,
           const char *member)
{
  return ow_json_get_int (self->result.structured, member, -1);
}

bool
files_bool (Files      *self,
            const char *member)
{
  return ow_json_get_bool (self->result.structured, member, 0) != 0;
}

static void
call_and_report (Files      *self,
                 const char *tool,
                 const char *arguments,
                 int         report)
{
  json_t *whole = json_object ();
  char *text;

  files_call (self, tool, "%s", arguments);
  json_object_set_new (whole, "text", json_string (self->result.text));
  json_object_set_new (whole, "error", json_boolean (self->result.is_error));
  json_object_set (whole, "structured", self->result.structured);
  text = ow_json_dump (whole, NULL);
  g_assert_cmpint (write (report, text, strlen (text)), ==, (gssize) strlen (text));
  _exit (0);
}

const char *
files_call_bounded (Files      *self,
                    const char *tool,
                    const char *arguments)
{
  const char *name = files_path (self, "report");
  int report = open (name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  gint64 start = g_get_monotonic_time ();
  g_autofree char *text = NULL;
  struct rusage before;
  struct rusage usage;
  json_t *whole;
  int status;
  pid_t child;

  getrusage (RUSAGE_SELF, &before);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    call_and_report (self, tool, arguments, report);
  g_assert_cmpint (wait4 (child, &status, 0, &usage), ==, child);
  g_assert_cmpint (status, ==, 0);
  close (report);
  g_assert_cmpint (g_get_monotonic_time () - start, <, MAX_SECONDS * G_USEC_PER_SEC);
#ifndef __SANITIZE_ADDRESS__
  g_assert_cmpint (usage.ru_maxrss, <, before.ru_maxrss + MAX_GROWTH_KB);
#endif
  g_assert_true (g_file_get_contents (name, &text, NULL, NULL));
  whole = parse (text);
  clear_result (self);
  self->result.text = strdup (ow_json_get_string (whole, "text", ""));
  self->result.length = strlen (self->result.text);
  self->result.is_error = ow_json_get_bool (whole, "error", 0) != 0;
  self->result.structured = json_incref (json_object_get (whole, "structured"));
  json_decref (whole);
  return self->result.text;
}

void
files_assert_outside (Files *self)
{
  g_autofree char *secret = files_get (self, "outside/secret");
  g_autoptr (GDir) directory = g_dir_open (self->outside, 0, NULL);

  g_assert_cmpstr (secret, ==, FILES_SECRET);
  g_assert_cmpstr (g_dir_read_name (directory), ==, "secret");
  g_assert_null (g_dir_read_name (directory));
}

void
files_assert_refused (Files      *self,
                      const char *part)
{
  if (!self->result.is_error)
    g_error ("not refused: %s", self->result.text);
  files_assert_has (self->result.text, part);
  files_assert_lacks (self->result.text, FILES_SECRET);
  files_assert_outside (self);
}

void
files_assert_done (Files *self)
{
  if (self->result.is_error)
    g_error ("refused: %s", self->result.text);
}

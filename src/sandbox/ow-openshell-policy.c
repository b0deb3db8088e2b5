/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openshell-policy-private.h"

#include <string.h>
#include <yaml.h>

#include "base/ow-error.h"
#include "base/ow-text.h"
#include "openshell/ow-openshell-names.h"
#include "ow-mount-table-private.h"
#include "ow-wall-view-private.h"

#define VERSION  "1"
#define RULE_KEY "openworker"
#define ANY_PROGRAM "/**"

#define SHOWN_CHARS 300
#define SHOWN_HOSTS 4

#define CHOOSE   "Choose another folder, or give --provider bubblewrap."
#define PROVIDER "Give --provider bubblewrap."

/* OpenShell's own places: nothing can be mounted over, in or around them. */
static const char * const reserved[] = {
  "/sandbox", "/opt/openshell", "/etc/openshell", "/etc/openshell-tls", "/run/openshell",
  "/run/openshell-sidecar", "/run/netns", "/var/run/netns", OW_OPENSHELL_RUNNER_DIR,
};

/* --- what can be in a policy --- */

/* For a sentence: one line, and nothing in it can play with a terminal. */
static char *
show_line (const char *path)
{
  g_autofree char *text = ow_text_from_bytes (path, -1);
  g_autofree char *visible = ow_text_visible (text);

  return ow_text_shorten (visible, SHOWN_CHARS, TRUE);
}

static gboolean
refuse_path (const char *path,
             const char *why,
             GError    **error)
{
  g_autofree char *shown = show_line (path);

  ow_error_setf (error, OW_ERROR_REFUSED, CHOOSE,
                 "The folder \"%s\" cannot be used in a session with OpenShell: %s", shown, why);
  return FALSE;
}

static gboolean
has_control (const char *path)
{
  for (const char *p = path; *p != '\0'; p = g_utf8_next_char (p))
    if (g_unichar_iscntrl (g_utf8_get_char (p)))
      return TRUE;
  return FALSE;
}

static gboolean
has_space_around (const char *path)
{
  const char *end = path + strlen (path);

  return g_unichar_isspace (g_utf8_get_char (path)) ||
         g_unichar_isspace (g_utf8_get_char (g_utf8_prev_char (end)));
}

gboolean
ow_openshell_policy_check_path (const char *path,
                                GError    **error)
{
  if (path[0] != '/')
    return refuse_path (path, "its path is not a whole one", error);
  if (strlen (path) > OW_OPENSHELL_PATH_BYTES)
    return refuse_path (path, "its path is longer than 4,096 bytes", error);
  if (!g_utf8_validate (path, -1, NULL))
    return refuse_path (path, "its name is not valid UTF-8", error);
  if (has_control (path))
    return refuse_path (path, "its name holds a line break or another control character", error);
  /* Engines take "source:target:mode" for a mount. */
  if (strchr (path, ':') != NULL)
    return refuse_path (path, "its name holds a colon, which container engines take for the end of "
                        "it", error);
  if (has_space_around (path))
    return refuse_path (path, "its name ends with white space", error);
  for (gsize i = 0; i < G_N_ELEMENTS (reserved); i++)
    if (ow_path_contains (reserved[i], path) || ow_path_contains (path, reserved[i]))
      {
        g_autofree char *why = g_strdup_printf ("it lies in or holds %s, which is a place of the "
                                                "sandbox itself", reserved[i]);

        return refuse_path (path, why, error);
      }
  return TRUE;
}

/* OpenShell takes no account and no group 0: nothing in it runs as root. */
static gboolean
check_account (const OwSandboxPlan *plan,
               GError             **error)
{
  const OwFolder *first = g_ptr_array_index (plan->folders, 0);
  g_autofree char *shown = show_line (first->path);

  if (plan->uid != 0 && plan->gid != 0)
    return TRUE;
  ow_error_setf (error, OW_ERROR_REFUSED,
                 "Choose a folder of an ordinary account, or give --provider bubblewrap.",
                 "The folder \"%s\" cannot be used in a session with OpenShell: commands would "
                 "run as %s, and nothing in a sandbox of OpenShell runs as that", shown,
                 plan->uid == 0 ? "root, who owns it" : "the group of root");
  return FALSE;
}

char *
ow_openshell_policy_host (const char *host)
{
  return g_str_has_prefix (host, "*.") ? g_strconcat ("*", host, NULL) : g_strdup (host);
}

/* The host as the policy names it. NULL when it is none. */
static char *
render_host (const OwHost *host,
             GError      **error)
{
  g_autofree char *text = ow_host_to_text (host);
  g_autoptr (GError) reason = NULL;
  g_autoptr (OwHost) checked =
    ow_host_parse_as (text, host->private ? OW_HOST_ADDRESS | OW_HOST_PRIVATE : OW_HOST_ADDRESS,
                      &reason);

  /* The list was checked when it was read; this is the last place before the wall. */
  if (checked == NULL)
    {
      g_autofree char *shown = show_line (reason->message);

      ow_error_set (error, OW_ERROR_REFUSED, "The session cannot be started", shown,
                    "Mend sandbox_extra_hosts in config.toml.");
      return NULL;
    }
  return ow_openshell_policy_host (checked->host);
}

/* The ports of clusters' own services, which OpenShell keeps every sandbox from. */
gboolean
ow_openshell_policy_keeps_from (guint port)
{
  static const guint16 ports[] = { 2379, 2380, 6443, 10250, 10255 };

  for (gsize i = 0; i < G_N_ELEMENTS (ports); i++)
    if (ports[i] == port)
      return TRUE;
  return FALSE;
}

char *
ow_openshell_policy_tell_ports (const OwSandboxPlan *plan)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < plan->hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (plan->hosts, i);
      g_autofree char *shown = ow_host_to_text (host);

      if (ow_openshell_policy_keeps_from (host->port) && n++ < SHOWN_HOSTS)
        g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", shown);
    }
  if (n > SHOWN_HOSTS)
    g_string_append_printf (text, " and %u more", n - SHOWN_HOSTS);
  if (n == 0)
    return NULL;
  return g_strdup_printf ("OpenShell lets no sandbox reach the ports 2379, 2380, 6443, 10250 and "
                          "10255, so these hosts are not reached: %s. With --provider bubblewrap "
                          "they are.", text->str);
}

/* --- YAML --- */

typedef struct {
  yaml_emitter_t emitter;
  GString       *text;
  gboolean       failed;
} Writer;

static int
on_write (void          *data,
          unsigned char *buffer,
          size_t         size)
{
  GString *text = data;

  g_string_append_len (text, (const char *) buffer, (gssize) size);
  return 1;
}

static void
emit (Writer       *writer,
      yaml_event_t *event,
      int           good)
{
  if (!good || writer->failed || !yaml_emitter_emit (&writer->emitter, event))
    writer->failed = TRUE;
}

static void
add_plain (Writer     *writer,
           const char *text)
{
  yaml_event_t event;

  emit (writer, &event,
        yaml_scalar_event_initialize (&event, NULL, NULL, (const yaml_char_t *) text,
                                      (int) strlen (text), 1, 1, YAML_PLAIN_SCALAR_STYLE));
}

/* What is a text stays one, whatever it looks like. */
static void
add_text (Writer     *writer,
          const char *text)
{
  yaml_event_t event;

  emit (writer, &event,
        yaml_scalar_event_initialize (&event, NULL, NULL, (const yaml_char_t *) text,
                                      (int) strlen (text), 0, 1,
                                      YAML_DOUBLE_QUOTED_SCALAR_STYLE));
}

static void
begin_map (Writer     *writer,
           const char *key)
{
  yaml_event_t event;

  if (key != NULL)
    add_plain (writer, key);
  emit (writer, &event,
        yaml_mapping_start_event_initialize (&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
}

static void
end_map (Writer *writer)
{
  yaml_event_t event;

  emit (writer, &event, yaml_mapping_end_event_initialize (&event));
}

static void
begin_list (Writer     *writer,
            const char *key)
{
  yaml_event_t event;

  add_plain (writer, key);
  emit (writer, &event,
        yaml_sequence_start_event_initialize (&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
}

static void
end_list (Writer *writer)
{
  yaml_event_t event;

  emit (writer, &event, yaml_sequence_end_event_initialize (&event));
}

static void
add_list (Writer     *writer,
          const char *key,
          GPtrArray  *texts)
{
  begin_list (writer, key);
  for (guint i = 0; i < texts->len; i++)
    add_text (writer, g_ptr_array_index (texts, i));
  end_list (writer);
}

/* --- the parts of a policy --- */

static void
add_path (GPtrArray  *paths,
          const char *path)
{
  for (guint i = 0; i < paths->len; i++)
    if (strcmp (g_ptr_array_index (paths, i), path) == 0)
      return;
  g_ptr_array_add (paths, (char *) path);
}

static gboolean
collect_paths (const OwSandboxPlan *plan,
               GPtrArray           *read_only,
               GPtrArray           *read_write,
               GError             **error)
{
  g_autoptr (GArray) view = ow_wall_view_openshell (plan);
  guint n_folders = 0;

  for (guint i = 0; i < view->len; i++)
    {
      const OwWallPlace *place = &g_array_index (view, OwWallPlace, i);

      if (place->kind == OW_WALL_HANDED && place->rule != OW_WALL_RULE_RUNNER &&
          !ow_openshell_policy_check_path (place->path, error))
        return FALSE;
      n_folders += place->rule == OW_WALL_RULE_FOLDER;
      if (place->rights == OW_WALL_READ)
        add_path (read_only, place->path);
      else if (place->rights != OW_WALL_NOTHING)
        add_path (read_write, place->path);
    }
  if (read_only->len + read_write->len <= OW_OPENSHELL_POLICY_PATHS)
    return TRUE;
  ow_error_setf (error, OW_ERROR_REFUSED, "Give fewer folders, or one that holds them.",
                 "The session cannot be started: it has %u folders, and a sandbox of OpenShell "
                 "takes %u", n_folders,
                 OW_OPENSHELL_POLICY_PATHS - (read_only->len + read_write->len - n_folders));
  return FALSE;
}

static void
write_process (Writer              *writer,
               const OwSandboxPlan *plan)
{
  g_autofree char *uid = g_strdup_printf ("%u", plan->uid);
  g_autofree char *gid = g_strdup_printf ("%u", plan->gid);

  begin_map (writer, "process");
  add_plain (writer, "run_as_user");
  add_text (writer, uid);
  add_plain (writer, "run_as_group");
  add_text (writer, gid);
  end_map (writer);
}

static gboolean
write_endpoints (Writer    *writer,
                 GPtrArray *hosts,
                 GError   **error)
{
  begin_list (writer, "endpoints");
  for (guint i = 0; i < hosts->len; i++)
    {
      const OwHost *host = g_ptr_array_index (hosts, i);
      g_autofree char *name = render_host (host, error);
      g_autofree char *port = g_strdup_printf ("%u", host->port);

      if (name == NULL)
        return FALSE;
      begin_map (writer, NULL);
      add_plain (writer, "host");
      add_text (writer, name);
      add_plain (writer, "port");
      add_plain (writer, port);
      end_map (writer);
    }
  end_list (writer);
  return TRUE;
}

/* One rule for all hosts. Which program inside asks is not told apart: whoever may run a
 * command there may run any. */
static gboolean
write_network (Writer    *writer,
               GPtrArray *hosts,
               GError   **error)
{
  begin_map (writer, "network_policies");
  if (hosts->len > 0)
    {
      begin_map (writer, RULE_KEY);
      add_plain (writer, "name");
      add_text (writer, RULE_KEY);
      if (!write_endpoints (writer, hosts, error))
        return FALSE;
      begin_list (writer, "binaries");
      begin_map (writer, NULL);
      add_plain (writer, "path");
      add_text (writer, ANY_PROGRAM);
      end_map (writer);
      end_list (writer);
      end_map (writer);
    }
  end_map (writer);
  return TRUE;
}

static gboolean
write_policy (Writer              *writer,
              const OwSandboxPlan *plan,
              GPtrArray           *read_only,
              GPtrArray           *read_write,
              GError             **error)
{
  begin_map (writer, NULL);
  add_plain (writer, "version");
  add_plain (writer, VERSION);
  begin_map (writer, "filesystem_policy");
  add_plain (writer, "include_workdir");
  add_plain (writer, "false");
  add_list (writer, "read_only", read_only);
  add_list (writer, "read_write", read_write);
  end_map (writer);
  begin_map (writer, "landlock");
  add_plain (writer, "compatibility");
  add_plain (writer, "hard_requirement");
  end_map (writer);
  write_process (writer, plan);
  if (!write_network (writer, plan->hosts, error))
    return FALSE;
  end_map (writer);
  return TRUE;
}

static gboolean
write_document (Writer              *writer,
                const OwSandboxPlan *plan,
                GPtrArray           *read_only,
                GPtrArray           *read_write,
                GError             **error)
{
  yaml_event_t event;

  emit (writer, &event, yaml_stream_start_event_initialize (&event, YAML_UTF8_ENCODING));
  emit (writer, &event, yaml_document_start_event_initialize (&event, NULL, NULL, NULL, 1));
  if (!write_policy (writer, plan, read_only, read_write, error))
    return FALSE;
  emit (writer, &event, yaml_document_end_event_initialize (&event, 1));
  emit (writer, &event, yaml_stream_end_event_initialize (&event));
  if (!writer->failed && yaml_emitter_flush (&writer->emitter))
    return TRUE;
  ow_error_set (error, OW_ERROR_FAILED, "The session cannot be started",
                "the policy of its sandbox cannot be written", NULL);
  return FALSE;
}

char *
ow_openshell_policy_render (const OwSandboxPlan *plan,
                            GError             **error)
{
  g_autoptr (GPtrArray) read_only = g_ptr_array_new ();
  g_autoptr (GPtrArray) read_write = g_ptr_array_new ();
  Writer writer = { 0 };
  gboolean good;

  if (!check_account (plan, error) || !collect_paths (plan, read_only, read_write, error))
    return NULL;
  if (!yaml_emitter_initialize (&writer.emitter))
    {
      ow_error_set (error, OW_ERROR_FAILED, "The session cannot be started",
                    "the policy of its sandbox cannot be written", PROVIDER);
      return NULL;
    }
  writer.text = g_string_new (NULL);
  yaml_emitter_set_output (&writer.emitter, on_write, writer.text);
  yaml_emitter_set_unicode (&writer.emitter, 1);
  /* No line of a path is ever folded. */
  yaml_emitter_set_width (&writer.emitter, -1);
  good = write_document (&writer, plan, read_only, read_write, error);
  yaml_emitter_delete (&writer.emitter);
  return g_string_free (writer.text, !good);
}

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-error.h"
#include "fake-command.h"
#include "openshell/ow-openshell-mounts.h"
#include "openshell/ow-openshell-names.h"

#define NAME "ow-0123456789ab"

static const char * const main_command[] = { "/opt/openworker/openworker-runner", "serve",
                                             "--socket", "/tmp/x y", NULL };
static const char * const labels[] = { "openworker=1", "openworker-owner=0123456789abcdef", NULL };

static OwOpenshellSpec
make_spec (void)
{
  return (OwOpenshellSpec) {
           .name = NAME, .image = "base:test", .policy_file = "/run/policy.yaml",
           .driver_config = "{\"docker\":{\"mounts\":[]}}", .labels = labels,
           .command = main_command,
  };
}

static void
keep_line (const char *line,
           gpointer    user_data)
{
  g_ptr_array_add (user_data, g_strdup (line));
}

static gboolean
create (FakeCommand           *fake,
        const OwOpenshellSpec *spec,
        GPtrArray             *lines,
        GError               **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_create_async (fake->openshell, spec, lines != NULL ? keep_line : NULL, lines, NULL,
                             fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_create_finish (fake->openshell, result, error);
}

static void
test_arguments (void)
{
  static const char * const environment[] = { "A=b c", NULL };
  OwOpenshellSpec spec = make_spec ();
  g_auto (GStrv) plain = ow_openshell_create_arguments (&spec);
  g_auto (GStrv) whole = NULL;
  g_autofree char *plain_line = g_strjoinv ("|", plain);
  g_autofree char *whole_line = NULL;

  g_assert_cmpstr (plain_line, ==,
                   "sandbox|create|--name|" NAME "|--from|base:test|--no-tty|--detach|"
                   "--no-auto-providers|--policy|/run/policy.yaml|--driver-config-json|"
                   "{\"docker\":{\"mounts\":[]}}|--label|openworker=1|--label|"
                   "openworker-owner=0123456789abcdef|--|/opt/openworker/openworker-runner|serve|"
                   "--socket|/tmp/x y");
  spec.cpu = "2";
  spec.memory = "4Gi";
  spec.environment = environment;
  whole = ow_openshell_create_arguments (&spec);
  whole_line = g_strjoinv ("|", whole);
  g_assert_nonnull (strstr (whole_line, "|--env|A=b c|--cpu|2|--memory|4Gi|--|"));
}

static void
test_progress (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "printf '\\n\\033[1mCreated sandbox:\\033[0m " NAME "\\n\\n  \\033[2m[0.0s]\\033[0m "
    "Requesting\\033]0;x\\007 compute...\\n10%%\\r20%%\\r\\nlast without end'");
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;
  OwOpenshellSpec spec = make_spec ();
  g_autofree char *joined = NULL;

  g_assert_true (create (fake, &spec, lines, &error));
  g_assert_no_error (error);
  g_ptr_array_add (lines, NULL);
  joined = g_strjoinv ("|", (char **) lines->pdata);
  g_assert_cmpstr (joined, ==, "Created sandbox: " NAME "|[0.0s] Requesting compute...|10%|20%|"
                   "last without end");
}

static gboolean
on_late (gpointer data)
{
  *(gboolean *) data = TRUE;
  return G_SOURCE_REMOVE;
}

static void
note_line (const char *line,
           gpointer    user_data)
{
  *(gint64 *) user_data = g_get_monotonic_time ();
}

/* A line is told when it comes, not when the command has ended. */
static void
test_progress_live (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "echo first; while [ ! -e \"$FOLDER/go\" ]; do sleep 0.05; done");
  g_autoptr (GAsyncResult) result = NULL;
  g_autoptr (GError) error = NULL;
  OwOpenshellSpec spec = make_spec ();
  gint64 told = 0;
  gboolean late = FALSE;
  guint timer = g_timeout_add (fake_command_scaled (20000), on_late, &late);

  ow_openshell_create_async (fake->openshell, &spec, note_line, &told, NULL, fake_command_keep,
                             &result);
  while (told == 0 && !late)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (told, >, 0);
  g_assert_null (result);
  fake_command_write (fake, "go", "");
  fake_command_wait (&result);
  g_assert_true (ow_openshell_create_finish (fake->openshell, result, &error));
  if (!late)
    g_source_remove (timer);
}

static void
test_create_fails (void)
{
  static const struct { const char *script; int fault; } cases[] = {
    { "printf 'Error:   × sandbox entered error phase while provisioning: MainProcessExited:\\n"
      "  │ Canonical main process exited\\n\\n' >&2; exit 1", OW_OPENSHELL_FAULT_MAIN_EXITED },
    { "printf \"Error:   × sandbox '" NAME "' already exists\\n\" >&2; exit 1",
      OW_OPENSHELL_FAULT_NAME_TAKEN },
    { "printf 'Error:   × client error (Connect)\\n  ╰─▶ invalid peer certificate: "
      "BadSignature\\n' >&2; exit 1", OW_OPENSHELL_FAULT_CERTIFICATE },
    /* It says that all is well and writes an error. */
    { "printf 'Error:   × transport error\\n' >&2", OW_OPENSHELL_FAULT_GATEWAY_DOWN },
    { "exit 1", OW_OPENSHELL_FAULT_OTHER },
    { "kill -9 $$", OW_OPENSHELL_FAULT_OTHER },
  };
  OwOpenshellSpec spec = make_spec ();

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new (cases[i].script);
      g_autoptr (GError) error = NULL;

      g_assert_false (create (fake, &spec, NULL, &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, cases[i].fault);
    }
}

/* What OpenShell would refuse, or take for something else, is not given to it. */
static void
test_S13_create (void)
{
  static const char * const names[] = { "", "-x", "ow-0123456789abcdef0", "ow--1", "Ow-1", "ow_1",
                                        "ow 1", "ow-1-", "ow-1\n", "a title of a session" };
  static const char * const bad_labels[] = { "openworker", "=1", "a=b c", "a=ä", "a=-b", "a=b\n",
                                             "--env=x y" };
  g_autoptr (FakeCommand) fake = fake_command_new ("echo run >\"$FOLDER/run\"");
  g_autofree char *run = NULL;
  OwOpenshellSpec spec = make_spec ();

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;

      spec.name = names[i];
      g_assert_false (create (fake, &spec, NULL, &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
    }
  spec = make_spec ();
  for (gsize i = 0; i < G_N_ELEMENTS (bad_labels); i++)
    {
      const char *list[] = { bad_labels[i], NULL };
      g_autoptr (GError) error = NULL;

      spec.labels = list;
      g_assert_false (create (fake, &spec, NULL, &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
    }
  run = fake_command_read (fake, "run");
  g_assert_cmpstr (run, ==, "");
}

/* --- get, list, delete, allow --- */

#define BOX(name, phase, labels)                                                           \
  "{\"annotations\":{},\"created_at\":\"2026-11-29 15:52:07\",\"id\":\"f6335689\","        \
  "\"labels\":{" labels "},\"name\":\"" name "\",\"phase\":\"" phase "\"}"

static OwOpenshellSandbox *
get (FakeCommand *fake,
     GError     **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_get_async (fake->openshell, NAME, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_get_finish (fake->openshell, result, error);
}

/* 1, 0, or -1 with @error. */
static int
has_providers (FakeCommand *fake,
               GError     **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_has_providers_async (fake->openshell, NAME, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_has_providers_finish (fake->openshell, result, error);
}

#define GET_SCRIPT "case \"$*\" in 'sandbox get " NAME " -o json') cat \"$FOLDER/answer\";; "   \
                   "'sandbox provider list " NAME "') cat \"$FOLDER/providers\";; *) exit 9;; esac"
#define NO_PROVIDERS "No providers attached to sandbox " NAME ".\n"

static void
test_get (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (GET_SCRIPT);
  g_autoptr (OwOpenshellSandbox) sandbox = NULL;
  g_autoptr (GError) error = NULL;

  fake_command_write (fake, "answer", BOX (NAME, "Ready", "\"openworker\":\"1\",\"n\":7"));
  fake_command_write (fake, "providers", NO_PROVIDERS);
  sandbox = get (fake, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (sandbox->name, ==, NAME);
  g_assert_cmpstr (sandbox->id, ==, "f6335689");
  g_assert_cmpstr (sandbox->phase, ==, "Ready");
  g_assert_cmpstr (sandbox->created_at, ==, "2026-11-29 15:52:07");
  g_assert_cmpstr (g_hash_table_lookup (sandbox->labels, "openworker"), ==, "1");
  g_assert_cmpuint (g_hash_table_size (sandbox->labels), ==, 1);
  g_assert_cmpint (has_providers (fake, &error), ==, 0);
  g_assert_no_error (error);
}

/* REQ-W13: whatever is not the sentence that there are none is a provider. */
static void
test_providers (void)
{
  static const char * const answers[] = {
    "\x1b[1mNAME\x1b[0m  \x1b[1mTYPE\x1b[0m\nwork  github  1  0\n", "", "something else\n",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new (GET_SCRIPT);
      g_autoptr (GError) error = NULL;

      fake_command_write (fake, "providers", answers[i]);
      g_assert_cmpint (has_providers (fake, &error), ==, 1);
      g_assert_no_error (error);
    }
}

static void
test_get_fails (void)
{
  static const char * const answers[] = {
    "", "[]", "{}", BOX ("ow-other", "Ready", ""), "{\"name\":\"" NAME "\"}",
    BOX (NAME "\\u001b[0m", "Ready", ""), "nonsense",
  };
  g_autoptr (FakeCommand) missing = fake_command_new (
    "printf 'Error:   × code: x, message: \"sandbox not found\"\\n' >&2; exit 1");
  g_autoptr (GError) not_found = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new (GET_SCRIPT);
      g_autoptr (GError) error = NULL;

      fake_command_write (fake, "answer", answers[i]);
      fake_command_write (fake, "providers", NO_PROVIDERS);
      g_assert_null (get (fake, &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_UNREADABLE);
    }
  g_assert_null (get (missing, &not_found));
  g_assert_error (not_found, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_NOT_FOUND);
}

static GPtrArray *
list (FakeCommand *fake,
      const char  *selector,
      GError     **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_list_async (fake->openshell, selector, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_list_finish (fake->openshell, result, error);
}

static void
test_list (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "printf '%s|' \"$@\" >\"$FOLDER/arguments\"; cat \"$FOLDER/answer\"");
  g_autoptr (GPtrArray) two = NULL;
  g_autoptr (GPtrArray) none = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *arguments = NULL;

  fake_command_write (fake, "answer", "[" BOX ("ow-1", "Ready", "") ","
                      BOX ("somebody-elses", "Error", "\"a\":\"b\"") "]\n");
  two = list (fake, "openworker=1", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (two->len, ==, 2);
  g_assert_cmpstr (((OwOpenshellSandbox *) two->pdata[1])->phase, ==, "Error");
  arguments = fake_command_read (fake, "arguments");
  g_assert_cmpstr (arguments, ==, "sandbox|list|--limit|1000|-o|json|--selector|openworker=1|");

  fake_command_write (fake, "answer", "[]\n");
  none = list (fake, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (none->len, ==, 0);
}

/* A list that cannot be read whole is no list: what is missing in it is not gone. */
static void
test_list_unreadable (void)
{
  static const char * const answers[] = {
    "", "{}", "[7]", "[{}]", "[" BOX ("ow-1", "Ready", "") "", "No sandboxes found.\n",
    "[" BOX ("ow-1", "Ready", "") ",{\"name\":\"ow-2\"}]",
    "[" BOX ("ow-1\\u001b[0m", "Ready", "") "]",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new ("cat \"$FOLDER/answer\"");
      g_autoptr (GError) error = NULL;

      fake_command_write (fake, "answer", answers[i]);
      g_assert_null (list (fake, NULL, &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_UNREADABLE);
    }
}

static gboolean
delete_named (FakeCommand *fake,
              const char  *name,
              GError     **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_delete_async (fake->openshell, name, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_delete_finish (fake->openshell, result, error);
}

static void
test_delete (void)
{
  static const struct { const char *script; int fault; } cases[] = {
    { "[ \"$*\" = 'sandbox delete " NAME "' ] && "
      "printf '\\033[32m✓\\033[0m Deleted sandbox " NAME "\\n'", -1 },
    { "printf '\\033[33m!\\033[39m Sandbox " NAME " not found\\n'", -1 },
    { "printf 'Error:   × code: x, message: \"sandbox not found\"\\n\\n' >&2; exit 1", -1 },
    { "printf 'Error:   × transport error\\n' >&2; exit 1", OW_OPENSHELL_FAULT_GATEWAY_DOWN },
    { "exit 1", OW_OPENSHELL_FAULT_OTHER },
    { "echo 'Deleted sandbox'", OW_OPENSHELL_FAULT_UNREADABLE },
    { "", OW_OPENSHELL_FAULT_UNREADABLE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new (cases[i].script);
      g_autoptr (GError) error = NULL;
      gboolean done = delete_named (fake, NAME, &error);

      if (cases[i].fault < 0)
        g_assert_no_error (error);
      else
        g_assert_error (error, OW_OPENSHELL_ERROR, cases[i].fault);
      g_assert_true (done == (cases[i].fault < 0));
    }
}

/* "--all" would delete what is somebody else's. */
static void
test_S13_delete (void)
{
  static const char * const names[] = { "--all", "-a", "", "a b" };
  g_autoptr (FakeCommand) fake = fake_command_new ("echo run >\"$FOLDER/run\"");
  g_autofree char *run = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (delete_named (fake, names[i], &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
    }
  run = fake_command_read (fake, "run");
  g_assert_cmpstr (run, ==, "");
}

static void
test_allow (void)
{
  static const struct { const char *host; guint16 port; gboolean remove; const char *expected; }
  cases[] = {
    { "example.org", 443, FALSE, "policy|update|" NAME "|--add-endpoint|example.org:443:full|"
      "--binary|/**|--wait|" },
    { "**.example.org", 8443, TRUE, "policy|update|" NAME "|--remove-endpoint|**.example.org:8443|"
      "--wait|" },
    { "", 443, FALSE, NULL }, { "-x", 443, FALSE, NULL }, { "a:b", 443, FALSE, NULL },
    { "a b", 443, FALSE, NULL }, { "a", 0, FALSE, NULL }, { "a/b", 1, TRUE, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (FakeCommand) fake = fake_command_new (
        "printf '%s|' \"$@\" >\"$FOLDER/arguments\"; echo 'Policy version 2 loaded' >&2");
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *arguments = NULL;

      ow_openshell_allow_async (fake->openshell, NAME, cases[i].host, cases[i].port,
                                cases[i].remove, NULL, fake_command_keep, &result);
      fake_command_wait (&result);
      g_assert_true (ow_openshell_allow_finish (fake->openshell, result, &error) ==
                     (cases[i].expected != NULL));
      if (cases[i].expected == NULL)
        g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
      arguments = fake_command_read (fake, "arguments");
      g_assert_cmpstr (arguments, ==, cases[i].expected != NULL ? cases[i].expected : "");
    }
}

/* --- names and mounts --- */

static void
test_S13_names (void)
{
  static const char alphabet[] = "abcxyz0189-_.ABZ /\n\x7f\xc3\xa4";

  g_assert_true (ow_openshell_name_is_valid ("ow-0123456789ab"));
  g_assert_true (ow_openshell_name_is_valid ("abcdefghijklmnopqrs"));
  g_assert_false (ow_openshell_name_is_valid ("abcdefghijklmnopqrst"));
  g_assert_true (ow_openshell_name_is_safe ("abcdefghijklmnopqrst"));
  g_assert_false (ow_openshell_name_is_valid (NULL));
  for (guint i = 0; i < 20000; i++)
    {
      char text[100] = "";
      guint length = g_test_rand_int_range (0, sizeof text - 1);
      g_autofree char *label = NULL;

      for (guint k = 0; k < length; k++)
        text[k] = alphabet[g_test_rand_int_range (0, sizeof alphabet - 1)];
      label = ow_openshell_label_from_text (text);
      g_assert_true (ow_openshell_label_is_valid (label));
      g_assert_cmpuint (strlen (label), <=, OW_OPENSHELL_LABEL_MAX);
      if (ow_openshell_name_is_valid (text))
        g_assert_true (g_regex_match_simple ("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$(?!\\n)", text,
                                             G_REGEX_DOLLAR_ENDONLY, 0) &&
                       strstr (text, "--") == NULL && strlen (text) <= 19);
    }
}

static void
test_labels (void)
{
  static const struct { const char *text; const char *label; } cases[] = {
    { "", "" }, { "plain", "plain" }, { "R&D <b>plan</b>", "R-D-b-plan-b" },
    { "  two  words  ", "two-words" }, { "../../etc", "etc" }, { "--all", "all" },
    { "a.b_c-d", "a.b_c-d" }, { "Übung 7", "bung-7" }, { "\x1b[31m", "31m" }, { "!!!", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *label = ow_openshell_label_from_text (cases[i].text);

      g_assert_cmpstr (label, ==, cases[i].label);
    }
  g_assert_false (ow_openshell_label_is_valid ("a b"));
  g_assert_false (ow_openshell_label_is_valid (".a"));
  g_assert_false (ow_openshell_label_is_valid ("a-"));
}

static char *
mounts_of (const char *driver,
           const char *path,
           gboolean    selinux,
           GError    **error)
{
  OwOpenshellMount mounts[] = { { path, path, FALSE }, { "/srv/ro", "/srv/ro", TRUE } };

  return ow_openshell_mounts_to_json (driver, mounts, 2, selinux, error);
}

static void
test_S12 (void)
{
  static const struct { const char *path; const char *json; } good[] = {
    { "/srv/a b", "/srv/a b" }, { "/srv/quote\"d", "/srv/quote\\\"d" },
    { "/srv/back\\slash", "/srv/back\\\\slash" }, { "/srv/ümlaut", "/srv/ümlaut" },
    { "/srv/,ro=1", "/srv/,ro=1" }, { "/srv/ lead", "/srv/ lead" }, { "/srv/'$(x)'", "/srv/'$(x)'" },
  };
  static const char * const bad[] = {
    "", "srv", "./srv", "/", "/srv/", "/srv//a", "/srv/./a", "/srv/../a", "/srv/a\nb", "/srv/a\rb",
    "/srv/a\tb", "/srv/a\x1b[0m", "/srv/tail ", "/srv/tail\xc2\xa0", "/srv/\xff", "/srv/a\xc2\x85z",
    "/etc/openshell", "/etc/openshell/tls", "/opt", "/run", "/run/netns/x", "/srv/ro",
  };
  g_autofree char *longest = g_strnfill (4096, 'a');
  g_autofree char *too_long = g_strnfill (4097, 'a');
  g_autofree char *taken = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *json = mounts_of ("docker", good[i].path, FALSE, &error);
      g_autofree char *expected = g_strdup_printf (
        "{\"docker\":{\"mounts\":[{\"type\":\"bind\",\"source\":\"%s\",\"target\":\"%s\","
        "\"read_only\":false},{\"type\":\"bind\",\"source\":\"/srv/ro\",\"target\":\"/srv/ro\","
        "\"read_only\":true}]}}", good[i].json, good[i].json);

      g_assert_no_error (error);
      g_assert_cmpstr (json, ==, expected);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_test_message ("%s", bad[i]);
      g_assert_null (mounts_of ("podman", bad[i], FALSE, &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
    }
  longest[0] = '/';
  taken = mounts_of ("docker", longest, FALSE, NULL);
  g_assert_nonnull (taken);
  too_long[0] = '/';
  g_assert_null (mounts_of ("docker", too_long, FALSE, NULL));
}

/* Docker's driver writes source, target and options with colons between them. */
static void
test_S12_colon (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *podman = mounts_of ("podman", "/srv/a:b", FALSE, NULL);

  g_assert_null (mounts_of ("docker", "/srv/a:/etc:rw", FALSE, &error));
  g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
  g_assert_nonnull (strstr (podman, "\"/srv/a:b\""));
}

static void
test_S12_selinux (void)
{
  g_autofree char *json = mounts_of ("podman", "/srv/a", TRUE, NULL);
  guint count = 0;

  for (const char *p = json; (p = strstr (p, "\"selinux_label\":\"shared\"")) != NULL; p++)
    count++;
  g_assert_cmpuint (count, ==, 2);
}

static void
test_S12_many (void)
{
  g_autofree OwOpenshellMount *mounts = g_new0 (OwOpenshellMount, 2000);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2000; i++)
    {
      g_ptr_array_add (paths, g_strdup_printf ("/srv/%u", i));
      mounts[i] = (OwOpenshellMount) { paths->pdata[i], paths->pdata[i], FALSE };
    }
  g_assert_null (ow_openshell_mounts_to_json ("docker", mounts, 2000, FALSE, &error));
  g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_INVALID);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell/create/arguments", test_arguments);
  g_test_add_func ("/openshell/create/progress", test_progress);
  g_test_add_func ("/openshell/create/progress-live", test_progress_live);
  g_test_add_func ("/openshell/create/fails", test_create_fails);
  g_test_add_func ("/openshell/create/S13", test_S13_create);
  g_test_add_func ("/openshell/get/plain", test_get);
  g_test_add_func ("/openshell/get/REQ-W13", test_providers);
  g_test_add_func ("/openshell/get/fails", test_get_fails);
  g_test_add_func ("/openshell/list/plain", test_list);
  g_test_add_func ("/openshell/list/unreadable", test_list_unreadable);
  g_test_add_func ("/openshell/delete/plain", test_delete);
  g_test_add_func ("/openshell/delete/S13", test_S13_delete);
  g_test_add_func ("/openshell/allow", test_allow);
  g_test_add_func ("/openshell/names/S13", test_S13_names);
  g_test_add_func ("/openshell/names/labels", test_labels);
  g_test_add_func ("/openshell/mounts/S12", test_S12);
  g_test_add_func ("/openshell/mounts/S12/colon", test_S12_colon);
  g_test_add_func ("/openshell/mounts/S12/selinux", test_S12_selinux);
  g_test_add_func ("/openshell/mounts/S12/many", test_S12_many);
  return g_test_run ();
}

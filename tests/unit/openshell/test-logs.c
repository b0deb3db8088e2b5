/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "openshell/ow-openshell-logs.h"

#include <string.h>

#include "fake-command.h"

#define HEAD    "[1795967543.635] [sandbox] [OCSF ] [ocsf] "
#define DENIED  HEAD "NET:OPEN [MED] DENIED "
#define RULE    " [policy:- engine:opa] [reason:endpoint x is not allowed by any policy]"

static void
test_refusal (void)
{
  static const struct {
    const char *line; const char *host; guint port; const char *program; const char *engine;
  } cases[] = {
    { DENIED "/usr/bin/bash(158) -> files.example.org:443" RULE, "files.example.org", 443,
      "/usr/bin/bash", "opa" },
    { DENIED "-(0) -> host.example:8443" RULE, "host.example", 8443, NULL, "opa" },
    { DENIED "-(-) -> host.example:443" RULE, "host.example", 443, NULL, "opa" },
    { DENIED "host.example:443" RULE, "host.example", 443, NULL, "opa" },
    { DENIED "host.example:443/tcp [reason:x]", "host.example", 443, NULL, NULL },
    { DENIED "python3(7) -> 10.0.0.1:22 [policy:- engine:ssrf] [reason:internal address]",
      "10.0.0.1", 22, "python3", "ssrf" },
    { DENIED "curl(7) -> [2001:db8::1]:443" RULE, "[2001:db8::1]", 443, "curl", "opa" },
    { DENIED "/a (b)/c(7) -> host.example:443" RULE, "host.example", 443, "/a (b)/c", "opa" },
    /* The inside names its programs; what it names them does not choose the host. */
    { DENIED "/x -> allowed.example:1 [policy:- engine:l7] (7) -> host.example:443" RULE,
      "host.example", 443, "/x -> allowed.example:1 [policy:- engine:l7] ", "opa" },
    { HEAD "HTTP:GET [MED] DENIED curl(7) -> GET http://plain.example/a?b"
      " [policy:- engine:opa] [reason:x]", "plain.example", 80, "curl", "opa" },
    { HEAD "HTTP:GET [MED] DENIED curl(7) -> GET http://plain.example:8080/"
      " [policy:- engine:opa] [reason:x]", "plain.example", 8080, "curl", "opa" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OwOpenshellRefusal) refusal = ow_openshell_refusal_from_line (cases[i].line);

      g_test_message ("%s", cases[i].line);
      g_assert_nonnull (refusal);
      g_assert_cmpstr (refusal->host, ==, cases[i].host);
      g_assert_cmpuint (refusal->port, ==, cases[i].port);
      g_assert_cmpstr (refusal->program, ==, cases[i].program);
      g_assert_cmpstr (refusal->engine, ==, cases[i].engine);
      g_assert_cmpint (refusal->time_ms, ==, 1795967543635);
    }
}

static void
test_allowed (void)
{
  static const char * const others[] = {
    HEAD "SSH:OPEN [INFO] ALLOWED", HEAD "NET:OPEN [INFO] [msg:ssh relay open (channel_id=1)]",
    DENIED "curl(7) -> host.example:443" RULE, HEAD "NET:OPEN [INFO] ALLOWED curl(7) -> host.example",
    "NET:OPEN [INFO] ALLOWED curl(7) -> host.example:443 [policy:a engine:opa]", "",
  };
  g_autoptr (OwOpenshellRefusal) allowed = ow_openshell_refusal_from_allowed (
    HEAD "NET:OPEN [INFO] ALLOWED /usr/bin/curl(7) -> host.example:443 [policy:a engine:opa]");

  g_assert_nonnull (allowed);
  g_assert_cmpstr (allowed->host, ==, "host.example");
  g_assert_cmpuint (allowed->port, ==, 443);
  g_assert_cmpstr (allowed->program, ==, "/usr/bin/curl");
  g_assert_null (ow_openshell_refusal_from_line (
                   HEAD "NET:OPEN [INFO] ALLOWED /usr/bin/curl(7) -> host.example:443 [policy:a engine:opa]"));
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    g_assert_null (ow_openshell_refusal_from_allowed (others[i]));
}

/* A program may have a line break in its name, which OpenShell prints as one. The host that it was
 * refused is told all the same, whatever the rest of its line pretends to be. */
static void
test_S14_broken_line (void)
{
  static const char * const lines[] = {
    "b(47) -> hidden.example:443" RULE,
    "(47) -> hidden.example:443" RULE,
    HEAD "CONFIG:BUILT [INFO] x(47) -> hidden.example:443" RULE,
    HEAD "NET:OPEN [INFO] ALLOWED x(47) -> hidden.example:443" RULE,
    HEAD "HTTP:GET [MED] DENIED x(47) -> hidden.example:443" RULE,
    HEAD "NET:OPEN [MED] DENIED x(47) -> GET http://hidden.example:443/" RULE,
    "b(47) -> GET http://hidden.example:443/a" RULE,
    "[1.001] [sandbox] [INFO ] [x] y -> other.example:1 [policy:- engine:l7] [reason:y](47) -> "
    "hidden.example:443" RULE,
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autoptr (OwOpenshellRefusal) refusal = ow_openshell_refusal_from_line (lines[i]);

      g_test_message ("%s", lines[i]);
      g_assert_nonnull (refusal);
      g_assert_cmpstr (refusal->host, ==, "hidden.example");
      g_assert_cmpuint (refusal->port, ==, 443);
      g_assert_null (refusal->program);
      g_assert_cmpstr (refusal->engine, ==, "opa");
    }
}

static void
test_refusal_reason (void)
{
  g_autoptr (OwOpenshellRefusal) refusal =
    ow_openshell_refusal_from_line (DENIED "-(0) -> host.example:443" RULE);

  g_assert_cmpstr (refusal->reason, ==, "endpoint x is not allowed by any policy");
}

static void
test_no_refusal (void)
{
  static const char * const lines[] = {
    "", "DENIED -(0) -> host.example:443", HEAD "NET:OPEN [INFO] ALLOWED bash(1) -> a.example:443",
    HEAD "NET:OPEN [INFO] [msg:ssh relay open] DENIED -(0) -> host.example:443",
    "[1795967543.635] [gateway] [OCSF ] [ocsf] NET:OPEN [MED] DENIED -(0) -> host.example:443",
    "[1795967543.635] [sandbox] [INFO ] [x] NET:OPEN [MED] DENIED -(0) -> host.example:443",
    "[x.635] [sandbox] [OCSF ] [ocsf] NET:OPEN [MED] DENIED -(0) -> host.example:443",
    "[99999999999999999999.635] [sandbox] [OCSF ] [ocsf] NET:OPEN [MED] DENIED host.example:443",
    DENIED, DENIED "-(0) -> ", DENIED "-(0) -> host.example", DENIED "-(0) -> :443",
    DENIED "-(0) -> host.example:0", DENIED "-(0) -> host.example:70000",
    DENIED "-(0) -> host.example:443x", DENIED "-(0) -> ho<b>st:443", DENIED "-(0) -> ho st:443",
    HEAD "NET:REFUSE [MED] DENIED host.example:53 [reason:x]",
    HEAD "HTTP:GET [MED] DENIED curl(7) -> GET http://a.example/ [policy:x engine:l7] [reason:x]",
    HEAD "HTTP:GET [MED] DENIED curl(7) -> GET /a [policy:x engine:opa] [reason:x]",
    HEAD "CONFIG:BUILT [INFO] Landlock ruleset built",
    HEAD "NET:OPEN [INFO] ALLOWED x(47) -> a.example:443 [policy:openworker engine:opa]",
    "b(47) -> a.example:443 [policy:openworker engine:l7] [reason:x]",
    "b(47) -> a.example:443 [policy:- engine:opa]", ("b -> a.example:443" RULE),
    "b(47) -> a.example:443 [policy:- engine:l7] [reason:x]",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_test_message ("%s", lines[i]);
      g_assert_null (ow_openshell_refusal_from_line (lines[i]));
    }
}

typedef struct {
  OwOpenshellLogs *logs;     /* (owned) */
  GString         *lines;    /* (owned) joined with '|' */
  GString         *refused;  /* (owned) "host:port " */
  guint            count;
  gboolean         late;
  guint            timer;
} Follow;

static void
on_line (OwOpenshellLogs *logs,
         const char      *line,
         gpointer         user_data)
{
  Follow *follow = user_data;

  g_string_append_printf (follow->lines, "%s|", line);
  follow->count++;
}

static void
on_refused (OwOpenshellLogs    *logs,
            OwOpenshellRefusal *refusal,
            gpointer            user_data)
{
  Follow *follow = user_data;

  g_string_append_printf (follow->refused, "%s:%u ", refusal->host, refusal->port);
}

static gboolean
on_late (gpointer user_data)
{
  Follow *follow = user_data;

  follow->late = TRUE;
  follow->timer = 0;
  return G_SOURCE_REMOVE;
}

static void
follow_begin (Follow      *follow,
              FakeCommand *fake,
              const char  *name)
{
  *follow = (Follow) { .lines = g_string_new (NULL), .refused = g_string_new (NULL) };
  follow->logs = ow_openshell_logs_new (fake->openshell, name);
  g_signal_connect (follow->logs, "line", G_CALLBACK (on_line), follow);
  g_signal_connect (follow->logs, "refused", G_CALLBACK (on_refused), follow);
}

/* Waits for @count lines in all, or for @ms when there are to be no more. */
static void
follow_until (Follow *follow,
              guint   count,
              guint   ms)
{
  follow->late = FALSE;
  follow->timer = g_timeout_add (ms, on_late, follow);
  while (follow->count < count && !follow->late)
    g_main_context_iteration (NULL, TRUE);
  if (follow->timer != 0)
    g_source_remove (follow->timer);
}

static void
follow_end (Follow *follow)
{
  g_clear_object (&follow->logs);
  g_string_free (follow->lines, TRUE);
  g_string_free (follow->refused, TRUE);
}

static void
test_follow (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "printf '%s|' \"$@\" >\"$FOLDER/arguments\"\n"
    "printf '\\033[1m" DENIED "bash(1) -> a.example:443" RULE "\\033[0m\\r\\n'\n"
    "printf 'half '; sleep 0.2; printf 'line \\033]0;x\\007\\007end\\n\\n'\n"
    "head -c 20000 /dev/zero | tr '\\0' y; echo; echo last; exec sleep 1000");
  g_autofree char *arguments = NULL;
  g_auto (GStrv) lines = NULL;
  Follow follow;

  follow_begin (&follow, fake, "ow-1");
  follow_until (&follow, 4, fake_command_scaled (20000));
  g_assert_cmpuint (follow.count, ==, 4);
  lines = g_strsplit (follow.lines->str, "|", -1);
  g_assert_cmpstr (lines[0], ==, DENIED "bash(1) -> a.example:443" RULE);
  g_assert_cmpstr (lines[1], ==, "half line ^Gend");
  g_assert_cmpuint (strlen (lines[2]), ==, 8192);
  g_assert_cmpstr (lines[3], ==, "last");
  g_assert_cmpstr (follow.refused->str, ==, "a.example:443 ");
  arguments = fake_command_read (fake, "arguments");
  g_assert_cmpstr (arguments, ==, "logs|ow-1|--tail|-n|200|--source|sandbox|");
  follow_end (&follow);
}

/* The command ends as when the gateway is restarted, and tells its last lines again. */
static void
test_again (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "echo x >>\"$FOLDER/starts\"\n"
    "echo '[1.001] same'; echo '[1.001] same'; echo '[1.002] two'\n"
    "if [ $(wc -l <\"$FOLDER/starts\") -ge 3 ]; then echo '[1.001] same'; echo '[1.003] three'; "
    "exec sleep 1000; fi");
  gint64 begun = g_get_monotonic_time ();
  Follow follow;

  follow_begin (&follow, fake, "ow-1");
  follow_until (&follow, 5, fake_command_scaled (30000));
  g_assert_cmpstr (follow.lines->str, ==,
                   "[1.001] same|[1.001] same|[1.002] two|[1.001] same|[1.003] three|");
  /* Two new starts, a second before each. */
  g_assert_cmpint (g_get_monotonic_time () - begun, >=, 1900000);
  follow_end (&follow);
}

/* A command that cannot be started or ends at once is no busy loop. */
static void
test_no_busy_loop (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("echo x >>\"$FOLDER/starts\"; exit 1");
  g_autofree char *starts = NULL;
  Follow follow;

  follow_begin (&follow, fake, "ow-1");
  follow_until (&follow, 1, 2500);
  starts = fake_command_read (fake, "starts");
  g_assert_cmpuint (strlen (starts) / 2, >=, 1);
  g_assert_cmpuint (strlen (starts) / 2, <=, 3);
  follow_end (&follow);
}

static void
test_disposed (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("echo $$; exec sleep 1000");
  g_autofree char *path = NULL;
  gint64 end;
  Follow follow;

  follow_begin (&follow, fake, "ow-1");
  follow_until (&follow, 1, fake_command_scaled (20000));
  g_assert_cmpuint (follow.count, ==, 1);
  path = g_strdup_printf ("/proc/%d", atoi (follow.lines->str));
  follow_end (&follow);
  end = g_get_monotonic_time () + fake_command_scaled (20) * G_USEC_PER_SEC;
  while (g_file_test (path, G_FILE_TEST_EXISTS) && g_get_monotonic_time () < end)
    g_main_context_iteration (NULL, FALSE);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
}

static void
drop_it (OwOpenshellLogs *logs,
         const char      *line,
         gpointer         user_data)
{
  Follow *follow = user_data;

  follow->count++;
  g_clear_object (&follow->logs);
}

/* Who listens may drop the follower from within. */
static void
test_dropped_within (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "printf '" DENIED "a.example:443\\n" DENIED "b.example:443\\n'; exec sleep 1000");
  Follow follow;

  follow_begin (&follow, fake, "ow-1");
  g_signal_handlers_disconnect_by_data (follow.logs, &follow);
  g_signal_connect (follow.logs, "line", G_CALLBACK (drop_it), &follow);
  g_signal_connect (follow.logs, "refused", G_CALLBACK (on_refused), &follow);
  follow_until (&follow, 2, 2000);
  g_assert_cmpuint (follow.count, ==, 1);
  g_assert_cmpstr (follow.refused->str, ==, "");
  follow_end (&follow);
}

static void
test_S13 (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new ("echo run >\"$FOLDER/run\"");
  g_autofree char *run = NULL;
  Follow follow;

  follow_begin (&follow, fake, "--help");
  follow_until (&follow, 1, 500);
  run = fake_command_read (fake, "run");
  g_assert_cmpstr (run, ==, "");
  follow_end (&follow);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell/refusal/N02/allowed", test_allowed);
  g_test_add_func ("/openshell/refusal/plain", test_refusal);
  g_test_add_func ("/openshell/refusal/S14-broken-line", test_S14_broken_line);
  g_test_add_func ("/openshell/refusal/reason", test_refusal_reason);
  g_test_add_func ("/openshell/refusal/none", test_no_refusal);
  g_test_add_func ("/openshell/logs/follow", test_follow);
  g_test_add_func ("/openshell/logs/again", test_again);
  g_test_add_func ("/openshell/logs/no-busy-loop", test_no_busy_loop);
  g_test_add_func ("/openshell/logs/disposed", test_disposed);
  g_test_add_func ("/openshell/logs/dropped-within", test_dropped_within);
  g_test_add_func ("/openshell/logs/S13", test_S13);
  return g_test_run ();
}

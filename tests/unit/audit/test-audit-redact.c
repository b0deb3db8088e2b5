/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "audit-fixture.h"

static char *
redact (const char *text)
{
  char why[OW_WIRE_ERROR_SIZE];
  json_t *value = ow_json_parse (text, strlen (text), why);
  json_t *clean;
  char *dump, *copy;

  g_assert_nonnull (value);
  clean = ow_audit_redact (value);
  dump = ow_json_dump_canonical (clean, NULL);
  copy = g_strdup (dump);
  free (dump);
  json_decref (clean);
  json_decref (value);

  return copy;
}

/* None of "hunter2…" may be left. */
static void
test_secrets (void)
{
  static const char * const rows[] = {
    "{\"password\":\"hunter2\"}",
    "{\"Authorization\":\"Bearer hunter2hunter2\"}",
    "{\"headers\":{\"X-Api-Key\":\"hunter2\"}}",
    "{\"apiKey\":\"hunter2\"}",
    "{\"client_secret\":[\"hunter2\",\"hunter2\"]}",
    "{\"access_token\":{\"a\":\"hunter2\"}}",
    "{\"command\":\"export GITHUB_TOKEN=hunter2 && make\"}",
    "{\"command\":\"DB_PASSWORD='hunter2 hunter2' ./run\"}",
    "{\"command\":\"DB_PASSWORD=\\\"hunter2 hunter2\\\" ./run\"}",
    "{\"command\":\"AWS_SECRET_ACCESS_KEY=hunter2 aws s3 ls\"}",
    "{\"command\":\"curl -H 'Authorization: Bearer hunter2' https://h.example\"}",
    "{\"command\":\"curl -H \\\"authorization: token hunter2\\\" https://h.example\"}",
    "{\"command\":\"mysql --password hunter2 db\"}",
    "{\"command\":\"mysql --password=hunter2 db\"}",
    "{\"command\":\"git clone https://me:hunter2@git.example/r\"}",
    "{\"command\":\"echo '{\\\"password\\\": \\\"hunter2 hunter2\\\"}'\"}",
    "{\"argv\":[\"mysql\",\"--password\",\"hunter2\"]}",
    "{\"argv\":[\"env\",\"API_KEY=hunter2\"]}",
    "{\"content\":\"-----BEGIN OPENSSH PRIVATE KEY-----\\nhunter2\\n-----END OPENSSH PRIVATE KEY-----\"}",
    "{\"content\":\"-----BEGIN RSA PRIVATE KEY-----\\nhunter2\"}",
    "{\"text\":\"ghp_hunter2hunter2hunter2hunter2hunter2\"}",
    "{\"text\":\"see github_pat_hunter2hunter2hunter2hunter2\"}",
    "{\"text\":\"(sk-ant-hunter2hunter2hunter2hunter2)\"}",
    "{\"text\":\"xoxb-hunter2hunter2hunter2\"}",
    "{\"text\":\"eyJhunter2hunter2.eyJhunter2hunter2.hunter2hunter2\"}",
    "[\"token: hunter2\"]",
    "\"password=hunter2\"",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *clean = redact (rows[i]);

      if (strstr (clean, "hunter2") != NULL)
        g_test_message ("%s", clean);
      g_assert_null (strstr (clean, "hunter2"));
      g_assert_nonnull (strstr (clean, "[redacted]"));
    }
}

/* What is no secret stays to the byte, or the record is worth nothing. */
static void
test_kept (void)
{
  static const char * const rows[] = {
    "{\"command\":\"make -j2 all && ./configure --prefix=/usr\"}",
    "{\"max_tokens\":100,\"n\":1}",
    "{\"content\":\"the token was read by the tokenizer\"}",
    "{\"path\":\"src/password.c\"}",
    "{\"url\":\"https://h.example:8443/a@b?x=1\"}",
    "{\"argv\":[\"git\",\"commit\",\"-m\",\"word\"]}",
    "{\"text\":\"risk-assessment-of-everything-there-is\"}",
    "{\"password\":null,\"token\":false}",
    "[1,2.5,true,null,\"é\"]",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *clean = redact (rows[i]);

      g_assert_cmpstr (clean, ==, rows[i]);
    }
}

/* Texts made to be slow for patterns. Generous: minutes where it is quadratic. */
static void
test_time (void)
{
  static const char * const pieces[] = {
    "a", "-", "--", "://", "token", "secret=\"", "eyJ", "-----BEGIN PRIVATE KEY-----", "sk-",
    "password: ", "'", "\\", " ",
  };
  gint64 start = g_get_monotonic_time ();

  for (gsize i = 0; i < G_N_ELEMENTS (pieces); i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      json_t *value, *clean;

      while (text->len < 1024 * 1024)
        g_string_append (text, pieces[i]);
      value = json_string (text->str);
      clean = ow_audit_redact (value);
      g_assert_true (json_is_string (clean));
      json_decref (clean);
      json_decref (value);
    }
  g_assert_cmpint (g_get_monotonic_time () - start, <, 60 * G_USEC_PER_SEC);
}

/* In the file itself: arguments, the subject of a question, the head of a result. */
static void
test_in_record (Fixture       *f,
                gconstpointer  data)
{
  g_autoptr (OwAudit) audit = ow_audit_open (f->path, NULL);
  g_autoptr (OwEvent) ended = make_ended ("c", "API_TOKEN=hunter2\n");
  g_autoptr (OwEvent) started = NULL;
  g_autoptr (OwEvent) asked = NULL;
  g_autofree char *text = NULL;

  started = ow_event_new (OW_EVENT_TOOL_STARTED, "s",
                          json_pack ("{s:s, s:s, s:{s:s}, s:s, s:s}", "call", "c", "tool", "shell",
                                     "arguments", "command", "X_TOKEN=hunter2 make", "level",
                                     "direct", "approval", "person:once"));
  asked = ow_event_new (OW_EVENT_CONSENT_ASKED, "s",
                        json_pack ("{s:s, s:s, s:s, s:s, s:s, s:i}", "request", "r", "kind",
                                   "tool", "title", "shell", "subject",
                                   "{\"arguments\":{\"password\":\"hunter2\"}}", "level", "direct",
                                   "timeout_s", 600));
  g_assert_true (ow_audit_append (audit, started, FALSE, NULL));
  g_assert_true (ow_audit_append (audit, asked, FALSE, NULL));
  g_assert_true (ow_audit_append (audit, ended, FALSE, NULL));
  g_assert_true (g_file_get_contents (f->path, &text, NULL, NULL));
  g_assert_null (strstr (text, "hunter2"));
  g_assert_true (is_clean (f->path, 3));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/redact/secrets", test_secrets);
  g_test_add_func ("/redact/kept", test_kept);
  g_test_add_func ("/redact/time", test_time);
  g_test_add ("/redact/in-record", Fixture, NULL, fixture_set_up, test_in_record,
              fixture_tear_down);

  return g_test_run ();
}

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "consent/ow-consent.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ow-error.h"
#include "base/ow-file.h"

#define PLACE "/srv/project"

typedef struct {
  char           *base;   /* (owned) */
  char           *path;   /* (owned) of the rules */
  OwEventList    *events;
  OwConsent      *consent;
  OwConsentRules *rules;
  char           *id;     /* (owned) of the newest request */
  char           *always; /* (owned) (nullable) what it offers */
  guint           asked;
} Fixture;

typedef struct {
  gboolean   done;
  OwDecision decision;
  char      *approval; /* (owned) */
} Answer;

static void
on_appended (OwEventList *events,
             OwEvent     *event,
             Fixture     *f)
{
  if (ow_event_get_kind (event) != OW_EVENT_CONSENT_ASKED)
    return;
  f->asked++;
  g_free (f->id);
  g_free (f->always);
  f->id = g_strdup (ow_event_get_string (event, "request"));
  f->always = g_strdup (ow_event_get_string (event, "always"));
}

static void
begin_session (Fixture         *f,
               OwApprovePolicy  policy,
               const char      *place)
{
  f->events = ow_event_list_new ("s");
  f->consent = ow_consent_new (f->events, policy);
  f->rules = ow_consent_rules_open (f->path, NULL);
  g_assert_nonnull (f->rules);
  ow_consent_set_rules (f->consent, f->rules, place);
  ow_consent_set_attended (f->consent, TRUE);
  g_signal_connect (f->events, "appended", G_CALLBACK (on_appended), f);
}

static void
end_session (Fixture *f)
{
  g_assert_finalize_object (f->consent);
  g_clear_object (&f->events);
  g_assert_finalize_object (f->rules);
  g_clear_pointer (&f->id, g_free);
  g_clear_pointer (&f->always, g_free);
}

static void
set_up (Fixture       *f,
        gconstpointer  data)
{
  f->base = g_dir_make_tmp ("ow-always-XXXXXX", NULL);
  f->path = g_build_filename (f->base, "data", "approvals.json", NULL);
  begin_session (f, OW_APPROVE_ASK, PLACE);
}

static void
tear_down (Fixture       *f,
           gconstpointer  data)
{
  end_session (f);
  g_assert_true (ow_file_remove_tree (f->base, NULL));
  g_free (f->base);
  g_free (f->path);
}

static void
on_done (GObject      *object,
         GAsyncResult *result,
         gpointer      user_data)
{
  Answer *answer = user_data;
  g_autoptr (GError) error = NULL;

  g_assert_true (ow_consent_request_finish (OW_CONSENT (object), result, &answer->decision,
                                            &answer->approval, &error));
  g_assert_no_error (error);
  answer->done = TRUE;
}

static void
ask (Fixture    *f,
     OwLevel     level,
     const char *command,
     Answer     *answer)
{
  g_autofree char *subject = g_strdup_printf ("shell %s", command);
  OwConsentQuestion question = {
    .kind = OW_CONSENT_TOOL,
    .level = level,
    .title = "shell",
    .subject = subject,
    .command = command,
  };

  memset (answer, 0, sizeof *answer);
  ow_consent_request_async (f->consent, &question, NULL, on_done, answer);
}

static void
finish (Answer     *answer,
        const char *approval)
{
  while (!answer->done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpstr (answer->approval, ==, approval);
  g_clear_pointer (&answer->approval, g_free);
}

static void
allow_always (Fixture    *f,
              const char *command)
{
  g_autoptr (GError) error = NULL;
  Answer answer;

  ask (f, OW_LEVEL_DIRECT, command, &answer);
  g_assert_true (ow_consent_answer (f->consent, f->id, OW_DECISION_ALWAYS, NULL, &error));
  g_assert_no_error (error);
  finish (&answer, "person:always");
  g_assert_cmpint (answer.decision, ==, OW_DECISION_ALWAYS);
}

/* TRUE: a person is asked, and says no. */
static gboolean
is_asked (Fixture    *f,
          OwLevel     level,
          const char *command)
{
  guint before = f->asked;
  Answer answer;

  ask (f, level, command, &answer);
  if (f->asked == before)
    {
      finish (&answer, "rule:always");
      g_assert_cmpint (answer.decision, ==, OW_DECISION_ALWAYS);
      return FALSE;
    }
  g_assert_true (ow_consent_answer (f->consent, f->id, OW_DECISION_DENY, NULL, NULL));
  finish (&answer, "denied:person");
  return TRUE;
}

/* "git status" was allowed for always, and "git log", and nothing else of this. */
static const char * const others[] = {
  "git", "git status ;", "git status; rm -rf x", "git status;rm x", "git status && rm x",
  "git status & rm x", "git status &", "git status || rm x", "git status | sh", "git status |& sh",
  "git status\nrm x", "git status\r\nrm x", "git status \\\nrm", "git status > x", "git status >>x",
  "git status < x", "git status 2>x", "git status $(rm x)", "git status `rm x`", "git $(rm x)",
  "git \"status$(rm x)\"", "git status $IFS", "git ${x:-status}", "git status <(rm x)",
  "$(echo git) status", "A=b git status", "PATH=/x git status", "GIT_PAGER=rm git status",
  "LD_PRELOAD=x git status", "env git status", "sudo git status", "! git status",
  "time git status", "(git status)", "{ git status; }", "git status #", "git status # rm",
  "exec git status", "command git status", "eval git status", "if git status; then rm x; fi",
  "git status()", "git(){ rm x; }; git status", "alias git=rm\ngit status", "git status -s",
  "git status .", "git status ''", "git statu", "git statuss", "gitstatus", "git 'status '",
  "'git status'", "git\\ status", "Git status", "GIT STATUS", "git Status", "./git status",
  "/usr/bin/git status", "git -c core.pager=rm status", "git -c x status", "git st*", "git stat?s",
  "git [s]tatus", "git {status,log}", "git ~/status", "git status ~", "git\tstatus",
  "git status\t", "git status\x1b[8m", "git\xc2\xa0status", "git status\xe2\x80\x8b",
  "git \xe2\x80\xaestatus", "git statu\xd1\x95", "g\xd1\x96t status", "git status 'x", "git status \\",
  "git status $'\\n'rm", "git status <<x\nrm\nx", "git status!!", "git status\x0brm x", "",
  " ", "git log; git status", "git log git status", "git status git log",
};

static void
test_A41 (Fixture       *f,
          gconstpointer  data)
{
  g_assert_cmpuint (G_N_ELEMENTS (others), >=, 30);
  allow_always (f, "git status");
  allow_always (f, "git log");
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    if (!is_asked (f, OW_LEVEL_DIRECT, others[i]))
      g_error ("This was not asked for: %s", others[i]);
  /* The same words, however they are quoted. */
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "git status"));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "  git  status "));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "'git' \"status\""));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "g\\it stat'us'"));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "git log"));
}

/* A rule is of one level and one folder, for tools only, and ends no policy. */
static void
test_where (Fixture       *f,
            gconstpointer  data)
{
  OwConsentQuestion host = {
    .kind = OW_CONSENT_HOST, .level = OW_LEVEL_DIRECT, .title = "x", .subject = "make",
    .command = "make",
  };
  Answer answer = { 0 };

  allow_always (f, "make");
  g_assert_true (is_asked (f, OW_LEVEL_BUBBLEWRAP, "make"));
  g_assert_true (is_asked (f, OW_LEVEL_CONNECTOR, "make"));
  g_assert_true (is_asked (f, OW_LEVEL_OPENSHELL, "make"));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "make"));
  ow_consent_request_async (f->consent, &host, NULL, on_done, &answer);
  g_assert_null (f->always);
  ow_consent_close (f->consent);
  finish (&answer, "denied:closed");
  end_session (f);

  /* The next session, and one in another folder. */
  begin_session (f, OW_APPROVE_ASK, PLACE);
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "make"));
  g_assert_true (is_asked (f, OW_LEVEL_DIRECT, "make all"));
  end_session (f);
  begin_session (f, OW_APPROVE_ASK, PLACE "/sub");
  g_assert_true (is_asked (f, OW_LEVEL_DIRECT, "make"));
  end_session (f);
  begin_session (f, OW_APPROVE_DENY, PLACE);
  ask (f, OW_LEVEL_DIRECT, "make", &answer);
  finish (&answer, "denied:policy");
  end_session (f);
  /* Nobody has to be there for what was allowed for always. */
  begin_session (f, OW_APPROVE_SANDBOXED, PLACE);
  ow_consent_set_attended (f->consent, FALSE);
  ask (f, OW_LEVEL_DIRECT, "make", &answer);
  finish (&answer, "rule:always");
  ask (f, OW_LEVEL_DIRECT, "make x", &answer);
  finish (&answer, "denied:nobody");
}

static void
assert_offered (Fixture    *f,
                const char *command,
                const char *offered)
{
  g_autoptr (GError) error = NULL;
  guint before;
  Answer answer;

  ask (f, OW_LEVEL_DIRECT, command, &answer);
  g_assert_cmpstr (f->always, ==, offered);
  if (offered == NULL)
    {
      before = ow_event_list_get_n (f->events);
      g_assert_false (ow_consent_answer (f->consent, f->id, OW_DECISION_ALWAYS, NULL, &error));
      g_assert_error (error, OW_ERROR, OW_ERROR_USAGE);
      g_assert_cmpint (ow_error_exit_status (error), ==, 2);
      g_assert_nonnull (strstr (error->message, "cannot be allowed for always"));
      /* Nothing is decided by it: the request is open as before. */
      g_assert_cmpuint (ow_event_list_get_n (f->events), ==, before);
      g_assert_false (answer.done);
    }
  g_assert_true (ow_consent_answer (f->consent, f->id, OW_DECISION_DENY, NULL, NULL));
  finish (&answer, "denied:person");
}

/* "Always" is offered for what can be a rule, in the one text that stands for it. */
static void
test_offered (Fixture       *f,
              gconstpointer  data)
{
  assert_offered (f, "git status", "git status");
  assert_offered (f, " git  'status' \"x y\" it\\'s", "git status 'x y' 'it'\\''s'");
  assert_offered (f, "git status; rm x", NULL);
  assert_offered (f, "cd /srv", NULL);
  assert_offered (f, "eval 'rm x'", NULL);
  assert_offered (f, "alias ls=rm", NULL);
  assert_offered (f, "export PATH=/x", NULL);
  assert_offered (f, "", NULL);
  assert_offered (f, NULL, NULL);
  g_assert_false (g_file_test (f->path, G_FILE_TEST_EXISTS));

  ow_consent_set_rules (f->consent, f->rules, NULL);
  assert_offered (f, "git status", NULL);
  ow_consent_set_rules (f->consent, NULL, PLACE);
  assert_offered (f, "git status", NULL);
}

static void
write_rules (Fixture    *f,
             const char *content,
             int         mode)
{
  g_autofree char *directory = g_path_get_dirname (f->path);

  g_assert_cmpint (g_mkdir_with_parents (directory, 0700), ==, 0);
  g_assert_true (g_file_set_contents (f->path, content, -1, NULL));
  g_assert_cmpint (g_chmod (f->path, mode), ==, 0);
}

#define RULE "{\"level\":\"direct\",\"place\":\"" PLACE "\",\"words\":[\"make\"]}"
#define FILE_WITH(rules) "{\"version\":1,\"rules\":[" rules "]}"

/* A file of rules that is damaged, foreign or open to others: nothing of it counts, it is said,
 * and it stays as it was. */
static void
test_damaged (Fixture       *f,
              gconstpointer  data)
{
  static const struct { const char *content; int mode; } rows[] = {
    { "", 0600 }, { "{", 0600 }, { "[]", 0600 }, { "null", 0600 }, { "\xff", 0600 },
    { "{\"rules\":[" RULE "]}", 0600 },
    { "{\"version\":2,\"rules\":[" RULE "]}", 0600 },
    { "{\"version\":1,\"rules\":[" RULE "],\"x\":1}", 0600 },
    { "{\"version\":1,\"rules\":{}}", 0600 },
    { FILE_WITH (RULE ",7"), 0600 },
    { FILE_WITH (RULE ",{\"level\":\"direct\",\"place\":\"/\",\"words\":[]}"), 0600 },
    { FILE_WITH (RULE ",{\"level\":\"direct\",\"place\":\"/\",\"words\":[\"a\",1]}"), 0600 },
    { FILE_WITH (RULE ",{\"level\":\"direct\",\"place\":\"x\",\"words\":[\"a\"]}"), 0600 },
    { FILE_WITH (RULE ",{\"level\":\"any\",\"place\":\"/\",\"words\":[\"a\"]}"), 0600 },
    { FILE_WITH (RULE ",{\"level\":\"direct\",\"place\":\"/\",\"words\":[\"eval\",\"x\"]}"), 0600 },
    { FILE_WITH (RULE ",{\"level\":\"direct\",\"place\":\"/\",\"words\":[\"a\"],\"x\":1}"), 0600 },
    { FILE_WITH (RULE) "x", 0600 },
    { FILE_WITH (RULE), 0620 }, { FILE_WITH (RULE), 0602 }, { FILE_WITH (RULE), 0666 },
  };
  const char *words[] = { "make", NULL };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (OwConsentRules) rules = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (GError) add_error = NULL;
      g_autofree char *left = NULL;

      write_rules (f, rows[i].content, rows[i].mode);
      rules = ow_consent_rules_open (f->path, &error);
      g_assert_nonnull (rules);
      g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
      g_assert_cmpint (ow_error_exit_status (error), ==, 1);
      g_assert_nonnull (strstr (error->message, f->path));
      g_assert_nonnull (strstr (error->message, "each is asked for again"));
      g_assert_nonnull (strstr (error->message, "Repair the file or remove it"));
      g_assert_false (ow_consent_rules_contains (rules, OW_LEVEL_DIRECT, PLACE, words));
      g_assert_false (ow_consent_rules_add (rules, OW_LEVEL_DIRECT, PLACE, words, &add_error));
      g_assert_error (add_error, OW_ERROR, OW_ERROR_DATA);
      g_assert_true (g_file_get_contents (f->path, &left, NULL, NULL));
      g_assert_cmpstr (left, ==, rows[i].content);
      /* Then it is not offered either. */
      assert_offered (f, "make", NULL);
    }
  write_rules (f, FILE_WITH (RULE), 0600);
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "make"));
}

/* A rule taken out of the file counts no more, at once. */
static void
test_taken_back (Fixture       *f,
                 gconstpointer  data)
{
  GStatBuf info;

  allow_always (f, "make");
  allow_always (f, "make check");
  g_assert_cmpint (g_stat (f->path, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0600);
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "make check"));
  write_rules (f, FILE_WITH (RULE), 0600);
  g_assert_true (is_asked (f, OW_LEVEL_DIRECT, "make check"));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "make"));
  g_assert_cmpint (g_unlink (f->path), ==, 0);
  g_assert_true (is_asked (f, OW_LEVEL_DIRECT, "make"));
}

/* A rule that cannot be stored is no answer: the request stays open. */
static void
test_not_stored (Fixture       *f,
                 gconstpointer  data)
{
  g_autofree char *directory = g_path_get_dirname (f->path);
  g_autoptr (GError) error = NULL;
  Answer answer;

  ask (f, OW_LEVEL_DIRECT, "make", &answer);
  g_assert_cmpstr (f->always, ==, "make");
  g_assert_true (g_file_set_contents (directory, "a file where a folder is due", -1, NULL));
  g_assert_false (ow_consent_answer (f->consent, f->id, OW_DECISION_ALWAYS, NULL, &error));
  g_assert_nonnull (error);
  g_assert_cmpint (ow_error_exit_status (error), ==, 1);
  g_assert_cmpuint (ow_event_list_get_n (f->events), ==, 1);
  g_assert_false (answer.done);
  g_assert_true (ow_consent_answer (f->consent, f->id, OW_DECISION_ONCE, NULL, NULL));
  finish (&answer, "person:once");
  g_assert_cmpint (g_unlink (directory), ==, 0);
  g_assert_true (is_asked (f, OW_LEVEL_DIRECT, "make"));
}

static gboolean
refuse_answers (OwEvent   *event,
                gpointer   user_data,
                GError   **error)
{
  if (ow_event_get_kind (event) != OW_EVENT_CONSENT_ANSWERED)
    return TRUE;
  ow_error_set (error, OW_ERROR_FAILED, "The store is full", NULL, NULL);
  return FALSE;
}

static void
on_refused (GObject      *object,
            GAsyncResult *result,
            gpointer      user_data)
{
  g_autoptr (GError) error = NULL;
  OwDecision decision;

  g_assert_false (ow_consent_request_finish (OW_CONSENT (object), result, &decision, NULL,
                                             &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_FAILED);
  *(gboolean *) user_data = TRUE;
}

/* An "always" that cannot be written down leaves no rule. */
static void
test_not_written (Fixture       *f,
                  gconstpointer  data)
{
  OwConsentQuestion question = {
    .kind = OW_CONSENT_TOOL, .level = OW_LEVEL_DIRECT, .title = "shell", .subject = "make",
    .command = "make",
  };
  gboolean done = FALSE;

  allow_always (f, "make check");
  ow_event_list_set_sink (f->events, refuse_answers, NULL, NULL);
  ow_consent_request_async (f->consent, &question, NULL, on_refused, &done);
  ow_consent_answer (f->consent, f->id, OW_DECISION_ALWAYS, NULL, NULL);
  while (!done)
    g_main_context_iteration (NULL, TRUE);
  ow_event_list_set_sink (f->events, NULL, NULL, NULL);
  g_assert_true (is_asked (f, OW_LEVEL_DIRECT, "make"));
  g_assert_false (is_asked (f, OW_LEVEL_DIRECT, "make check"));
}

/* No more than a person could ever read. */
static void
test_many (Fixture       *f,
           gconstpointer  data)
{
  g_autoptr (GString) content = g_string_new ("{\"version\":1,\"rules\":[");
  g_autoptr (GError) error = NULL;
  const char *words[] = { "one", "more", NULL };
  const char *known[] = { "make", "7", NULL };

  for (guint i = 0; i < 1000; i++)
    g_string_append_printf (content, "%s{\"level\":\"direct\",\"place\":\"" PLACE "\",\"words\":"
                            "[\"make\",\"%u\"]}", i > 0 ? "," : "", i);
  g_string_append (content, "]}");
  write_rules (f, content->str, 0600);
  g_assert_true (ow_consent_rules_contains (f->rules, OW_LEVEL_DIRECT, PLACE, known));
  g_assert_true (ow_consent_rules_add (f->rules, OW_LEVEL_DIRECT, PLACE, known, &error));
  g_assert_no_error (error);
  g_assert_false (ow_consent_rules_add (f->rules, OW_LEVEL_DIRECT, PLACE, words, &error));
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "as many as it may"));
  g_assert_false (ow_consent_rules_contains (f->rules, OW_LEVEL_DIRECT, PLACE, words));
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  ADD ("/consent/A41/U04/other-commands", test_A41);
  ADD ("/consent/U04/where", test_where);
  ADD ("/consent/U04/offered", test_offered);
  ADD ("/consent/rules/damaged", test_damaged);
  ADD ("/consent/rules/taken-back", test_taken_back);
  ADD ("/consent/rules/not-stored", test_not_stored);
  ADD ("/consent/rules/not-written", test_not_written);
  ADD ("/consent/rules/many", test_many);

  return g_test_run ();
}

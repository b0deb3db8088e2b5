/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-reply-private.h"

#include <string.h>

/* Nothing of this is a yes, and nothing of it is surely a no: it is asked for again. */
static const char * const ambiguous[] = {
  "don't approve", "don't approve, ok?", "do not allow this", "not yes", "yes but", "yes but no",
  "yes, but not that file", "yes!", "yes.", "yes?", "yes, no", "yesno", "y", "Y", "YES", "Yes",
  "YES ", " yes", "yes ", "yes\t", "yes  ", "y e s", "yes yes", "yesyes", "yess", "ye", "ok", "okay",
  "OK?", "sure", "why not", "fine", "go ahead", "approve", "approved", "allow", "accept",
  "I would say yes", "say no", "maybe", "later", "not now", "nope", "nah", "none", "never", "No",
  "NO", "N", "n o", "no, yes", "no.", "no!", "nothing", "never always", "once more", "once?",
  "Once", "not once", "session?", "session ended", "Session", "no-session", "\"yes\"", "'yes'",
  "yes;no", "yes\\", "yes\xe2\x80\x8b", "\xe2\x80\xaeyes", "\xef\xbb\xbfyes", "y\xd0\xb5s",
  "\xef\xbd\x99\xef\xbd\x85\xef\xbd\x93", "yes\x1b[D", "yes\b\b\bno", "yes\xff", "yes\ryes",
  "yes\nno", "no\nyes", "0", "1", "true", "?", "help", "--yes", "/yes", "[yes]", "s\xc3\xad",
  "always?", "Always", "always ", "not always", "allways",
};

static void
test_ambiguous (void)
{
  g_assert_cmpuint (G_N_ELEMENTS (ambiguous), >=, 40);
  for (gsize i = 0; i < G_N_ELEMENTS (ambiguous); i++)
    for (guint offered = 0; offered < 2; offered++)
      {
        g_autofree char *with_end = g_strconcat (ambiguous[i], "\n", NULL);
        g_autofree char *reason = NULL;
        OwReply reply = ow_reply_parse (ambiguous[i], offered == 1, &reason);
        OwReply ended = ow_reply_parse (with_end, offered == 1, &reason);

        g_assert_cmpint (reply, ==, OW_REPLY_AGAIN);
        g_assert_cmpint (ended, ==, OW_REPLY_AGAIN);
        g_assert_null (reason);
        g_assert_null (ow_reply_decision (reply));
      }
}

/* No other word of up to five letters than the known ones is an answer. */
static void
test_short_words (void)
{
  static const char letters[] = "yesnoNY ";
  guint base = sizeof letters - 1;

  for (guint length = 1; length <= 5; length++)
    {
      guint n = 1;

      for (guint i = 0; i < length; i++)
        n *= base;
      for (guint number = 0; number < n; number++)
        {
          char word[8] = "";
          g_autofree char *reason = NULL;
          OwReply reply;
          guint rest = number;

          for (guint i = 0; i < length; i++, rest /= base)
            word[i] = letters[rest % base];
          reply = ow_reply_parse (word, TRUE, &reason);
          g_assert_cmpint (reply == OW_REPLY_ONCE, ==, strcmp (word, "yes") == 0);
          g_assert_cmpint (reply, !=, OW_REPLY_SESSION);
          g_assert_cmpint (reply, !=, OW_REPLY_ALWAYS);
        }
    }
}

static void
test_understood (void)
{
  static const struct {
    const char *line;
    OwReply     reply;
    const char *decision;
    const char *reason;
  } rows[] = {
    { "yes", OW_REPLY_ONCE, "once", NULL },
    { "yes\n", OW_REPLY_ONCE, "once", NULL },
    { "yes\r\n", OW_REPLY_ONCE, "once", NULL },
    { "once", OW_REPLY_ONCE, "once", NULL },
    { "session", OW_REPLY_SESSION, "session", NULL },
    { "always", OW_REPLY_ALWAYS, "always", NULL },
    { "no", OW_REPLY_DENY, "deny", NULL },
    { "n", OW_REPLY_DENY, "deny", NULL },
    { " no \n", OW_REPLY_DENY, "deny", NULL },
    { "", OW_REPLY_DENY, "deny", NULL },
    { "\n", OW_REPLY_DENY, "deny", NULL },
    { "   ", OW_REPLY_DENY, "deny", NULL },
    { NULL, OW_REPLY_DENY, "deny", NULL },
    { "no:", OW_REPLY_DENY, "deny", NULL },
    { "no not this file", OW_REPLY_DENY, "deny", "not this file" },
    { "no: use  git mv\n", OW_REPLY_DENY, "deny", "use  git mv" },
    { "no:yes", OW_REPLY_DENY, "deny", "yes" },
    { "no yes", OW_REPLY_DENY, "deny", "yes" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *reason = NULL;
      OwReply reply = ow_reply_parse (rows[i].line, TRUE, &reason);

      g_assert_cmpint (reply, ==, rows[i].reply);
      g_assert_cmpstr (ow_reply_decision (reply), ==, rows[i].decision);
      g_assert_cmpstr (reason, ==, rows[i].reason);
    }
  {
    g_autofree char *reason = NULL;

    g_assert_cmpint (ow_reply_parse ("always", FALSE, &reason), ==, OW_REPLY_AGAIN);
  }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/reply/U05/A41/ambiguous", test_ambiguous);
  g_test_add_func ("/reply/U05/A41/short-words", test_short_words);
  g_test_add_func ("/reply/understood", test_understood);

  return g_test_run ();
}

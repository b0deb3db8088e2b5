/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "check-request.h"
#include "ow-openai-calls-private.h"
#include "ow-openai-request-private.h"
#include "ow-openai-stream-private.h"
#include "streams.h"

#define N_STREAMS 1000
#define N_CUT 20
#define MAX_CUT_BYTES 1800

static void
on_text (const char *text,
         gpointer    user_data)
{
  g_assert_true (g_utf8_validate (text, -1, NULL));
  g_string_append (user_data, text);
}

/* Feeds @length bytes in pieces of at most @size and ends. */
static OwModelTurn *
read_stream (const char   *body,
             gsize         length,
             gsize         size,
             const GError *cause,
             GError      **error)
{
  g_autoptr (GString) said = g_string_new (NULL);
  g_autoptr (OwOpenaiStream) stream = ow_openai_stream_new (on_text, said);
  OwModelTurn *turn;
  gboolean     more = TRUE;

  for (gsize at = 0; at < length; at += size)
    {
      gsize piece = MIN (size, length - at);
      g_autofree char *copy = g_memdup2 (body + at, piece);

      more = ow_openai_stream_feed (stream, copy, piece);
    }
  if (length > 0)
    g_assert_cmpint (ow_openai_stream_feed (stream, "", 0), ==, more);
  turn = ow_openai_stream_end (stream, cause, error);
  /* What was told as it came is what is kept. */
  if (turn != NULL)
    g_assert_cmpstr (turn->text, ==, said->str);
  else
    g_assert_cmpstr (said->str, ==, "");
  if (turn != NULL && turn->cut != NULL)
    {
      g_assert_cmpuint (json_array_size (turn->tool_calls), ==, 0);
      g_assert_cmpstr (turn->finish, ==, "cut");
      g_assert_true (g_str_has_suffix (turn->cut, "."));
      g_assert_null (strchr (turn->cut, '\n'));
    }
  return turn;
}

static GError *
broken (void)
{
  return g_error_new_literal (OW_ERROR, OW_ERROR_DATA, "The connection broke.");
}

/* The conversation that goes on after @turn, @nullable: of which nothing is kept; stored, read
 * again, and made into the next request. */
static void
check_next_request (const OwModelTurn *turn)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *history = json_pack ("[{s:s, s:s}, {s:s, s:s}]", "role", "system", "text", "s", "role",
                               "user", "text", "go");
  json_t *again;
  char   *text;
  size_t  length;
  g_autoptr (GBytes) body = NULL;
  g_autofree char *fault = NULL;

  if (turn != NULL)
    json_array_append_new (history, json_pack ("{s:s, s:s, s:O}", "role", "assistant", "text",
                                               turn->text, "tool_calls", turn->tool_calls));
  for (size_t i = 0; turn != NULL && i < json_array_size (turn->tool_calls); i++)
    json_array_append_new (history, json_pack ("{s:s, s:O, s:s, s:s}", "role", "tool", "id",
                                               json_object_get (json_array_get (turn->tool_calls,
                                                                                i), "id"), "name",
                                               "x", "text", "done"));
  json_array_append_new (history, json_pack ("{s:s, s:s}", "role", "user", "text", "go on"));

  text = ow_json_dump (history, &length);
  g_assert_nonnull (text);
  again = ow_json_parse (text, length, message);
  g_assert_nonnull (again);
  g_assert_true (json_equal (history, again));
  body = ow_openai_request_make ("m", again, NULL, TRUE);
  fault = check_request (g_bytes_get_data (body, NULL), g_bytes_get_size (body));
  g_assert_cmpstr (fault, ==, NULL);
  free (text);
  json_decref (again);
  json_decref (history);
}

/* Streams of all kinds say what was put into them, however the bytes are split. */
static void
test_streams (void)
{
  static const gsize sizes[] = { 1, 2, 3, 7, 64, 1000, G_MAXSIZE / 2 };
  guint seen[STREAMS_N_DIALECTS] = { 0 };
  guint with_calls = 0;

  for (guint32 seed = 0; seed < N_STREAMS; seed++)
    {
      g_autoptr (Stream) stream = streams_make (seed, 5, 40);
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModelTurn) turn = NULL;

      g_test_message ("seed %u", seed);
      turn = read_stream (stream->body->str, stream->body->len,
                          sizes[seed % G_N_ELEMENTS (sizes)], NULL, &error);
      g_assert_no_error (error);
      streams_check (stream, turn);
      check_next_request (turn);
      seen[stream->dialect]++;
      with_calls += json_array_size (stream->calls) > 1;
    }
  for (guint i = 0; i < STREAMS_N_DIALECTS; i++)
    g_assert_cmpuint (seen[i], >, N_STREAMS / STREAMS_N_DIALECTS - 2);
  g_assert_cmpuint (with_calls, >, N_STREAMS / 4);
}

/* One cut of @stream after @length bytes, cleanly or by a broken connection. @last is what the one
 * before it left: the same once more is the same request once more. */
static void
check_cut (const Stream *stream,
           gsize         length,
           gboolean      clean,
           char        **last)
{
  g_autofree char *left = NULL;
  g_autoptr (GError) cause = clean ? NULL : broken ();
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModelTurn) turn = read_stream (stream->body->str, length, length > 0 ? length : 1,
                                              cause, &error);

  g_assert_true ((turn == NULL) == (error != NULL));
  if (turn != NULL)
    {
      g_assert_true (g_str_has_prefix (stream->text->str, turn->text));
      /* Before its end has been told, nothing runs. After a broken end neither, but for one that
       * was over: then what broke was no part of the answer. */
      if (length <= stream->finish_from + strlen ("data: ") ||
          (!clean && length < stream->body->len - 4))
        g_assert_cmpuint (json_array_size (turn->tool_calls), ==, 0);
      if (turn->cut == NULL)
        g_assert_cmpuint (json_array_size (turn->tool_calls), ==,
                          json_array_size (stream->calls));
      if (clean && length >= stream->finish_to)
        g_assert_null (turn->cut);
    }
  left = g_strdup_printf ("%u %s", turn != NULL ? (guint) json_array_size (turn->tool_calls) : 0,
                          turn != NULL ? turn->text : "");
  if (g_strcmp0 (left, *last) != 0)
    check_next_request (turn);
  g_free (*last);
  *last = g_steal_pointer (&left);
}

/* Cut at every byte: nothing runs, and the conversation can go on. */
static void
test_cut (void)
{
  guint   done = 0;
  guint32 dialects = 0;

  for (guint32 seed = 1; done < N_CUT; seed++)
    {
      g_autoptr (Stream) stream = streams_make (seed, 2, 6);
      g_autofree char *last = NULL;

      g_assert_cmpuint (seed, <, 100000);
      if (json_array_size (stream->calls) == 0 || stream->body->len > MAX_CUT_BYTES ||
          (done < STREAMS_N_DIALECTS && (dialects & (1u << stream->dialect))))
        continue;
      g_test_message ("seed %u", seed);
      for (gsize length = 0; length < stream->body->len; length++)
        {
          check_cut (stream, length, TRUE, &last);
          check_cut (stream, length, FALSE, &last);
        }
      dialects |= 1u << stream->dialect;
      done++;
    }
  g_assert_cmpuint (dialects, ==, (1u << STREAMS_N_DIALECTS) - 1);
}

#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta "}]}\n\n"
#define TEXT CHUNK ("{\"content\":\"I look.\"}")
#define CALL(arguments) \
  CHUNK ("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"shell\"," \
         "\"arguments\":" arguments "}}]}")
#define FINISH(word) \
  "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

typedef struct {
  const char *body;
  const char *says;
} BadCase;

/* Each has said something before, so that it is a turn that was cut. */
static const BadCase bad[] = {
  { TEXT, "ended without saying" },
  { TEXT DONE, "ended without saying" },
  { CALL ("\"{}\""), "ended without saying" },
  { CALL ("\"{}\"") DONE, "ended without saying" },
  { CALL ("\"{\\\"command\\\": \\\"rm -r\"") FINISH ("tool_calls") DONE, "no whole JSON object" },
  { CALL ("\"{\\\"command\\\": \\\"rm -r\"") FINISH ("stop") DONE, "no whole JSON object" },
  { CALL ("\"[]\"") FINISH ("tool_calls") DONE, "no whole JSON object" },
  { CALL ("\"7\"") FINISH ("tool_calls") DONE, "no whole JSON object" },
  { CALL ("\"null\"") FINISH ("tool_calls") DONE, "no whole JSON object" },
  { CALL ("\"{} {}\"") FINISH ("tool_calls") DONE, "no whole JSON object" },
  { CALL ("\"{\\\"a\\\":1,\\\"a\\\":2}\"") FINISH ("tool_calls") DONE, "no whole JSON object" },
  { CALL ("\"{}\"") FINISH ("length") DONE, "the most that the model may say" },
  { CALL ("\"{}\"") FINISH ("max_tokens") DONE, "the most that the model may say" },
  { CALL ("\"{}\"") FINISH ("content_filter") DONE, "filter" },
  { CALL ("\"{}\"") FINISH ("error") DONE, "reported an error" },
  { CALL ("\"{}\"") FINISH ("model_length") DONE, "the most that the model may say" },
  { CALL ("\"{}\"") FINISH ("abort") DONE, "broke it off" },
  { CALL ("\"{}\"") FINISH ("insufficient_system_resource") DONE, "broke it off" },
  { TEXT FINISH ("insufficient_system_resource") DONE, "broke it off" },
  /* Words that are not known are no permission. */
  { CALL ("\"{}\"") FINISH ("cancelled") DONE, "reason that is not known here, \"cancelled\"" },
  { CALL ("\"{}\"") FINISH ("MALFORMED_FUNCTION_CALL") DONE, "not known here" },
  { CALL ("\"{}\"") FINISH ("tool_calls ") DONE, "not known here" },
  { CALL ("\"{}\"") FINISH ("st\\u001bop") DONE, "not known here, \"st^[op\"" },
  /* What was cut once stays so, whatever comes behind. */
  { CALL ("\"{}\"") FINISH ("length") FINISH ("tool_calls") DONE, "the most that" },
  { CALL ("\"{}\"") FINISH ("content_filter") FINISH ("stop") DONE, "filter" },
  { FINISH ("error") CALL ("\"{}\"") FINISH ("stop") DONE, "reported an error" },
  { CALL ("\"{}\"") FINISH ("abort") TEXT FINISH ("stop") DONE, "broke it off" },
  { TEXT FINISH ("tool_calls") DONE, "calls none" },
  { TEXT "data: {\"error\":{\"message\":\"Out of memory.\"}}\n\n", "\"Out of memory.\"" },
  { CALL ("\"{}\"") "data: {\"error\":\"overloaded\"}\n\n" FINISH ("tool_calls") DONE,
    "\"overloaded\"" },
  { CALL ("\"{}\"") "event: error\ndata: {\"message\":\"gone\"}\n\n" FINISH ("stop") DONE,
    "\"gone\"" },
  { TEXT "event: error\ndata: what?\n\n", "did not say which" },
  { TEXT "data: {\"error\":{}}\n\n", "did not say which" },
  { TEXT "data: {\"choices\":[{\"ind\n\n" FINISH ("stop") DONE, "cannot be read" },
  { TEXT "data: {\"choices\":[],\"choices\":[]}\n\n" FINISH ("stop") DONE, "cannot be read" },
  { TEXT "data: \xff\n\n" FINISH ("stop") DONE, "cannot be read" },
  { TEXT CHUNK ("{\"content\":\"\\u0000\"}") FINISH ("stop") DONE, "cannot be read" },
  { TEXT CHUNK ("{\"content\":\"\\ud83d\"}") FINISH ("stop") DONE, "cannot be read" },
  { TEXT "data: hello\n\n" FINISH ("stop") DONE, "cannot be read" },
  { TEXT "data: [1]\n\n" FINISH ("stop") DONE, "no object" },
  { TEXT "data: 7\n\n" FINISH ("stop") DONE, "no object" },
  { TEXT "data: {\"choices\":{}}\n\n" FINISH ("stop") DONE, "no list" },
  { TEXT "data: {\"choices\":[7]}\n\n" FINISH ("stop") DONE, "no object" },
  { TEXT CHUNK ("7") FINISH ("stop") DONE, "no object" },
  { TEXT CHUNK ("{\"content\":7}") FINISH ("stop") DONE, "no text" },
  { TEXT CHUNK ("{\"tool_calls\":{}}") FINISH ("stop") DONE, "no list" },
  { TEXT CHUNK ("{\"tool_calls\":[7]}") FINISH ("stop") DONE, "no object" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"index\":\"0\"}]}") FINISH ("stop") DONE, "no number" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"index\":-1}]}") FINISH ("stop") DONE, "no number" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"index\":0,\"id\":7}]}") FINISH ("stop") DONE, "no text" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"function\":[]}]}") FINISH ("stop") DONE, "no object" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"function\":{\"name\":[]}}]}") FINISH ("stop") DONE, "no text" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"function\":{\"arguments\":7}}]}") FINISH ("stop") DONE,
    "neither text nor an object" },
  { TEXT CHUNK ("{\"tool_calls\":[{\"function\":{\"arguments\":\"{}\"}}]}") FINISH ("stop") DONE,
    "no name" },
  { CALL ("\"{\"") CHUNK ("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"read\","
                          "\"arguments\":\"}\"}}]}") FINISH ("stop") DONE, "changes its name" },
  { TEXT "data: {\"choices\":[{\"delta\":{},\"finish_reason\":7}]}\n\n" DONE, "no word" },
};

static void
test_bad (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModelTurn) turn = read_stream (bad[i].body, strlen (bad[i].body), 5, NULL,
                                                  &error);

      g_test_message ("case %u", (guint) i);
      g_assert_no_error (error);
      g_assert_nonnull (turn->cut);
      g_assert_true (g_ascii_isupper (*turn->cut));
      g_assert_nonnull (strstr (turn->cut, bad[i].says));
      check_next_request (turn);
    }
}

/* Nothing was said before: an error, with its kind and its sentence. */
static void
test_nothing (void)
{
  static const struct { const char *body; int kind; const char *says; } nothing[] = {
    { "", OW_ERROR_DATA, "ended without saying" },
    { DONE, OW_ERROR_DATA, "ended without saying" },
    { ": hello\n\n", OW_ERROR_DATA, "ended without saying" },
    { "data: {\"choices\":[]}\n\n", OW_ERROR_DATA, "ended without saying" },
    { "data: nonsense\n\n", OW_ERROR_DATA, "cannot be read" },
    { "<html>hello</html>", OW_ERROR_DATA, "ended without saying" },
    { FINISH ("length") DONE, OW_ERROR_DATA, "the most that the model may say" },
    { "data: {\"error\":{\"message\":\"No \\u001b[31mroom\\u202e\"}}\n\n", OW_ERROR_FAILED,
      "\"No ^[[31mroom\\u{202E}\"" },
    { "event: error\ndata: x\n\n", OW_ERROR_FAILED, "did not say which" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (nothing); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModelTurn) turn = read_stream (nothing[i].body, strlen (nothing[i].body), 3,
                                                  NULL, &error);

      g_test_message ("case %u", (guint) i);
      g_assert_null (turn);
      g_assert_error (error, OW_ERROR, nothing[i].kind);
      g_assert_true (g_str_has_prefix (error->message, "The model gave no answer: "));
      g_assert_nonnull (strstr (error->message, nothing[i].says));
    }
}

/* Why the connection ended is told, and its kind is kept when nothing came. */
static void
test_broken (void)
{
  g_autoptr (GError) cause = broken ();
  g_autoptr (GError) error = NULL;
  g_autoptr (OwModelTurn) none = read_stream ("data: {", 7, 7, cause, &error);
  g_autoptr (OwModelTurn) cut = read_stream (TEXT, strlen (TEXT), 9, cause, NULL);
  g_autoptr (OwModelTurn) late = read_stream (CALL ("\"{}\"") FINISH ("tool_calls"),
                                              strlen (CALL ("\"{}\"") FINISH ("tool_calls")), 9,
                                              cause, NULL);
  g_autoptr (OwModelTurn) over = read_stream (CALL ("\"{}\"") FINISH ("tool_calls") DONE,
                                              strlen (CALL ("\"{}\"") FINISH ("tool_calls") DONE),
                                              9, cause, NULL);

  g_assert_null (none);
  g_assert_error (error, OW_ERROR, OW_ERROR_DATA);
  g_assert_cmpstr (error->message, ==, "The connection broke.");
  g_assert_cmpstr (cut->cut, ==, "The connection broke.");
  g_assert_cmpstr (cut->text, ==, "I look.");
  g_assert_cmpstr (late->cut, ==, "The connection broke.");
  g_assert_null (over->cut);
  g_assert_cmpuint (json_array_size (over->tool_calls), ==, 1);
}

/* The end of a body that is whole is not the end of an answer: only the server can say that, also
 * where what came so far looks whole. */
static void
test_clean_end (void)
{
  static const char * const bodies[] = {
    CALL ("\"{\\\"cmd\\\": \\\"rm -r\""),
    CALL ("\"{\\\"cmd\\\": \\\"rm -r x\\\"}\""),
    TEXT CALL ("\"{}\"") DONE,
    CALL ("\"{}\"") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n",
    CALL ("\"{}\"") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":null}]}\n\n" DONE,
    CALL ("\"{}\"") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"\"}]}\n\n" DONE,
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      g_autoptr (OwModelTurn) turn = read_stream (bodies[i], strlen (bodies[i]), 6, NULL, NULL);

      g_assert_cmpstr (turn->cut, ==, "It ended without saying that it is at its end.");
      check_next_request (turn);
    }
}

/* An end that was said before a call, or a piece of one, came is not the end of that: the end of
 * a body then means nothing. */
static void
test_late (void)
{
  static const char * const bodies[] = {
    FINISH ("tool_calls") CALL ("\"{}\""),
    FINISH ("stop") TEXT CALL ("\"\""),
    CALL ("\"{\\\"a\\\":1\"") FINISH ("tool_calls") CALL ("\"}\""),
    CALL ("\"{}\"") FINISH ("tool_calls")
    CHUNK ("{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"list\"}}]}"),
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      g_autofree char *again = g_strconcat (bodies[i], FINISH ("tool_calls"), NULL);
      g_autofree char *done = g_strconcat (bodies[i], DONE, NULL);
      g_autoptr (OwModelTurn) cut = read_stream (bodies[i], strlen (bodies[i]), 6, NULL, NULL);
      g_autoptr (OwModelTurn) said = read_stream (again, strlen (again), 6, NULL, NULL);
      g_autoptr (OwModelTurn) ended = read_stream (done, strlen (done), 6, NULL, NULL);

      g_assert_nonnull (cut->cut);
      g_assert_nonnull (strstr (cut->cut, "after its end"));
      check_next_request (cut);
      g_assert_cmpstr (said->cut, ==, NULL);
      g_assert_cmpuint (json_array_size (said->tool_calls), >, 0);
      g_assert_cmpstr (ended->cut, ==, NULL);
      g_assert_cmpuint (json_array_size (ended->tool_calls), >, 0);
    }
}

/* Odd, and well all the same. */
static void
test_odd (void)
{
  static const struct { const char *body; const char *text; guint n; } odd[] = {
    { FINISH ("stop") DONE, "", 0 },
    { TEXT FINISH ("stop"), "I look.", 0 },
    { TEXT FINISH ("eos") "data:[DONE] \n\n", "I look.", 0 },
    { TEXT FINISH ("stop") DONE "data: nonsense\n\n", "I look.", 0 },
    { TEXT FINISH ("stop") DONE TEXT, "I look.", 0 },
    { TEXT "data: {\"error\":null,\"choices\":null}\n\ndata: {}\n\n" FINISH ("stop") DONE,
      "I look.", 0 },
    { TEXT "event: ping\ndata: {\"type\":\"ping\"}\n\n" FINISH ("stop") DONE, "I look.", 0 },
    { TEXT "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\n\n"
      FINISH ("stop") DONE, "I look.", 0 },
    { CHUNK ("null") CHUNK ("{\"refusal\":\"I will not.\"}") FINISH ("stop") DONE, "I will not.",
      0 },
    { CALL ("\"\"") FINISH ("tool_calls") DONE, "", 1 },
    { CALL ("\" \\n\"") FINISH ("tool_calls") DONE, "", 1 },
    { CALL ("null") FINISH ("tool_calls") DONE, "", 1 },
    { CALL ("\"{}\"") CALL ("\"{}\"") FINISH ("tool_calls") DONE, "", 1 },
    { FINISH ("tool_calls") CALL ("\"{}\"") DONE, "", 1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (odd); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OwModelTurn) turn = read_stream (odd[i].body, strlen (odd[i].body), 4, NULL,
                                                  &error);

      g_test_message ("case %u", (guint) i);
      g_assert_no_error (error);
      g_assert_cmpstr (turn->cut, ==, NULL);
      g_assert_cmpstr (turn->text, ==, odd[i].text);
      g_assert_cmpuint (json_array_size (turn->tool_calls), ==, odd[i].n);
      check_next_request (turn);
    }
}

/* Ids that are missing, the same twice, or no ids at all: each call has one of its own that can
 * be sent back. */
static void
test_ids (void)
{
  static const char body[] =
    CHUNK ("{\"tool_calls\":["
           "{\"index\":0,\"id\":\"same\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}},"
           "{\"index\":1,\"id\":\"same\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}},"
           "{\"index\":2,\"id\":\"a b\\u001b\",\"function\":{\"name\":\"c\",\"arguments\":\"{}\"}},"
           "{\"index\":3,\"function\":{\"name\":\"d\",\"arguments\":\"{}\"}},"
           "{\"index\":4,\"function\":{\"name\":\"\xc3\xa9 x\",\"arguments\":\"{}\"}}]}")
    FINISH ("tool_calls") DONE;
  g_autoptr (OwModelTurn) turn = read_stream (body, strlen (body), 11, NULL, NULL);
  g_autoptr (GHashTable) ids = g_hash_table_new (g_str_hash, g_str_equal);

  g_assert_null (turn->cut);
  g_assert_cmpuint (json_array_size (turn->tool_calls), ==, 5);
  for (size_t i = 0; i < 5; i++)
    {
      const char *id = ow_json_get_string (json_array_get (turn->tool_calls, i), "id", "");

      g_assert_cmpuint (strlen (id), >, 0);
      g_assert_cmpuint (strspn (id, "abcdefghijklmnopqrstuvwxyz0123456789_"), ==, strlen (id));
      g_assert_true (g_hash_table_add (ids, (gpointer) id));
    }
  g_assert_true (g_hash_table_contains (ids, "same"));
  check_next_request (turn);
}

/* A flood of anything is cut, and what is held is bounded. */
static void
test_floods (void)
{
  static const struct {
    const char *start;
    const char *unit;
    guint       n;
    const char *says;
  } floods[] = {
    { "", CHUNK ("{\"content\":\"abcdefghijklmnop\"}"), 40000, "512 KiB" },
    { TEXT "data: ", "aaaaaaaaaaaaaaaa", 300000, "4 MiB" },
    { TEXT ": ", "aaaaaaaaaaaaaaaa", 300000, "4 MiB" },
    { TEXT, "data: aaaaaaaaaaa\n", 400000, "4 MiB" },
    { TEXT, CHUNK ("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
                   "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}}]}"),
      30000, "4 MiB" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (floods); i++)
    {
      g_autoptr (OwOpenaiStream) stream = ow_openai_stream_new (NULL, NULL);
      g_autoptr (OwModelTurn) turn = NULL;
      gboolean more = ow_openai_stream_feed (stream, floods[i].start, strlen (floods[i].start));
      guint    n = 0;

      for (; n < floods[i].n && more; n++)
        more = ow_openai_stream_feed (stream, floods[i].unit, strlen (floods[i].unit));
      g_test_message ("case %u, after %u pieces", (guint) i, n);
      g_assert_false (more);
      turn = ow_openai_stream_end (stream, NULL, NULL);
      g_assert_nonnull (strstr (turn->cut, floods[i].says));
      g_assert_cmpuint (strlen (turn->text), <=, OW_OPENAI_STREAM_MAX_TEXT_BYTES);
      check_next_request (turn);
    }
}

static void
test_many_calls (void)
{
  g_autoptr (GString) body = g_string_new (NULL);
  g_autoptr (OwModelTurn) turn = NULL;

  for (guint i = 0; i <= OW_OPENAI_CALLS_MAX; i++)
    g_string_append_printf (body, CHUNK ("{\"tool_calls\":[{\"index\":%u,\"function\":{\"name\":"
                                         "\"a\",\"arguments\":\"{}\"}}]}"), i);
  g_string_append (body, FINISH ("tool_calls") DONE);
  turn = read_stream (body->str, body->len, 1000, NULL, NULL);
  g_assert_nonnull (strstr (turn->cut, "more than 128"));
}

/* Arguments that parse, and could not be read again from where they would be stored. */
static void
test_unkept (void)
{
  static const struct {
    const char *open;
    const char *value;
    const char *close;
    guint       n;
  } deep[] = {
    { "[", "", "]", 59 }, { "{\\\"a\\\":", "1", "}", 59 }, { "[", "", "]", 46 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (deep); i++)
    {
      g_autoptr (GString) body = g_string_new (NULL);
      g_autoptr (GString) arguments = g_string_new ("{\\\"a\\\":");
      g_autoptr (OwModelTurn) turn = NULL;

      for (guint n = 0; n < deep[i].n; n++)
        g_string_append (arguments, deep[i].open);
      g_string_append (arguments, deep[i].value);
      for (guint n = 0; n < deep[i].n; n++)
        g_string_append (arguments, deep[i].close);
      g_string_append_printf (body, CALL ("\"%s}\"") FINISH ("tool_calls") DONE, arguments->str);
      turn = read_stream (body->str, body->len, 100, NULL, NULL);
      g_assert_nonnull (turn->cut);
      g_assert_nonnull (strstr (turn->cut, "too deep"));
      check_next_request (turn);
    }
}

static void
test_usage (void)
{
  static const struct { const char *usage; json_int_t input; json_int_t output; } usages[] = {
    { "{\"prompt_tokens\":3,\"completion_tokens\":4}", 3, 4 },
    { "{\"prompt_tokens\":0,\"completion_tokens\":0,\"x\":{}}", 0, 0 },
    { "null", -1, -1 }, { "7", -1, -1 }, { "{}", -1, -1 },
    { "{\"prompt_tokens\":-3,\"completion_tokens\":4}", -1, -1 },
    { "{\"prompt_tokens\":\"3\",\"completion_tokens\":4}", -1, -1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (usages); i++)
    {
      g_autofree char *body = g_strdup_printf (TEXT FINISH ("stop") "data: {\"choices\":[],"
                                               "\"usage\":%s}\n\n" DONE, usages[i].usage);
      g_autoptr (OwModelTurn) turn = read_stream (body, strlen (body), 10, NULL, NULL);

      g_assert_null (turn->cut);
      g_assert_cmpint (ow_json_get_int (turn->usage, "input_tokens", -1), ==, usages[i].input);
      g_assert_cmpint (ow_json_get_int (turn->usage, "output_tokens", -1), ==, usages[i].output);
      g_assert_true ((turn->usage == NULL) == (usages[i].input < 0));
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openai-stream/P08/streams", test_streams);
  g_test_add_func ("/openai-stream/P08/cut", test_cut);
  g_test_add_func ("/openai-stream/P08/bad", test_bad);
  g_test_add_func ("/openai-stream/P08/nothing", test_nothing);
  g_test_add_func ("/openai-stream/A39/broken", test_broken);
  g_test_add_func ("/openai-stream/A39/clean-end", test_clean_end);
  g_test_add_func ("/openai-stream/P08/late-call", test_late);
  g_test_add_func ("/openai-stream/odd", test_odd);
  g_test_add_func ("/openai-stream/ids", test_ids);
  g_test_add_func ("/openai-stream/P08/floods", test_floods);
  g_test_add_func ("/openai-stream/many-calls", test_many_calls);
  g_test_add_func ("/openai-stream/P09/unkept", test_unkept);
  g_test_add_func ("/openai-stream/usage", test_usage);
  return g_test_run ();
}

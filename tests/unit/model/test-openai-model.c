/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <stdlib.h>
#include <string.h>

#include "base/ow-error.h"
#include "check-request.h"
#include "ow-openai-model-private.h"
#include "raw-server.h"
#include "streams.h"

#define KEY "sk-test-0123456789abcdef"

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8"
#define STATUS(line) "HTTP/1.1 " line "\r\nContent-Type: application/json"
#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta "}]}\n\n"
#define TEXT CHUNK ("{\"content\":\"I look.\"}")
#define CALL \
  CHUNK ("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"shell\"," \
         "\"arguments\":\"{\\\"command\\\":\\\"true\\\"}\"}}]}")
#define FINISH \
  "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
#define GOOD { .head = STREAM_HEAD, .body = TEXT CALL FINISH, .chunked = TRUE }

static const OwOpenaiTiming quick = {
  .connect = 10 * 1000, .first_byte = 20 * 1000, .idle = 20 * 1000, .chunk = 60 * 1000,
  .total = 60 * 1000, .retry_base = 4, .retry_total = 60 * 1000, .max_tries = 5,
};

typedef struct {
  GMainContext *context;  /* (unowned) (nullable) */
  GCancellable *cancellable;
  GString      *text;
  guint         cancel_at;  /* bytes of text at which it is cancelled; 0: never */
  OwModelTurn  *turn;
  GError       *error;
  gboolean      done;
} Asking;

static void
on_text (const char *text,
         gpointer    user_data)
{
  Asking *asking = user_data;

  g_string_append (asking->text, text);
  if (asking->cancel_at > 0 && asking->text->len >= asking->cancel_at)
    g_cancellable_cancel (asking->cancellable);
}

static void
on_answered (GObject      *source,
             GAsyncResult *result,
             gpointer      user_data)
{
  Asking *asking = user_data;

  asking->turn = ow_model_complete_finish (OW_MODEL (source), result, &asking->error);
  asking->done = TRUE;
}

static void
ask (OwModel *model,
     Asking  *asking)
{
  json_t *history = json_pack ("[{s:s, s:s}]", "role", "user", "text", "go");

  asking->text = g_string_new (NULL);
  ow_model_complete_async (model, history, NULL, on_text, asking, asking->cancellable,
                           on_answered, asking);
  json_decref (history);
  while (!asking->done)
    g_main_context_iteration (asking->context, TRUE);
  g_assert_true ((asking->turn == NULL) == (asking->error != NULL));
  if (asking->turn != NULL)
    {
      g_assert_cmpstr (asking->turn->text, ==, asking->text->str);
      if (asking->turn->cut != NULL)
        g_assert_cmpuint (json_array_size (asking->turn->tool_calls), ==, 0);
    }
}

static void
asking_clear (Asking *asking)
{
  g_string_free (asking->text, TRUE);
  ow_model_turn_free (asking->turn);
  g_clear_error (&asking->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Asking, asking_clear)

static OwModel *
make_model (RawServer * server,
            const char           *key,
            const OwOpenaiTiming * timing)
{
  g_autoptr (GError) error = NULL;
  OwModelOptions options = { .name = "openai:m", .base_url = raw_server_get_url (server),
                             .key = key };
  OwModel *model = ow_model_new (&options, &error);

  g_assert_no_error (error);
  ow_openai_model_set_timing (OW_OPENAI_MODEL (model), timing != NULL ? timing : &quick);
  return model;
}

static void
test_answer (void)
{
  static const RawAnswer answers[] = { GOOD };
  g_autoptr (RawServer) server = raw_server_new (answers, 1);
  g_autoptr (OwModel) model = make_model (server, KEY, NULL);
  g_auto (Asking) asking = { 0 };
  g_autofree char *request = NULL;
  g_autofree char *fault = NULL;
  const char *body;

  ask (model, &asking);
  g_assert_no_error (asking.error);
  g_assert_null (asking.turn->cut);
  g_assert_cmpstr (asking.turn->text, ==, "I look.");
  g_assert_cmpuint (json_array_size (asking.turn->tool_calls), ==, 1);
  request = raw_server_get_request (server, 0);
  g_assert_true (g_str_has_prefix (request, "POST /v1/chat/completions HTTP/1.1\r\n"));
  g_assert_nonnull (strstr (request, "\r\nAuthorization: Bearer " KEY "\r\n"));
  g_assert_nonnull (strstr (request, "\r\nContent-Type: application/json\r\n"));
  body = strstr (request, "\r\n\r\n") + 4;
  fault = check_request (body, strlen (body));
  g_assert_cmpstr (fault, ==, NULL);
  g_assert_null (strstr (body, KEY));
}

/* A thousand streams of all kinds, over the network, split anywhere. */
static void
test_streams (void)
{
  for (guint32 seed = 0; seed < 1000; seed++)
    {
      g_autoptr (Stream) stream = streams_make (seed, 4, 20);
      const RawAnswer answer = { .head = STREAM_HEAD, .body = stream->body->str,
                                 .length = stream->body->len, .chunked = seed % 3 != 0,
                                 .chunk = seed % 5 == 0 ? 1 + seed % 97 : 0 };
      g_autoptr (RawServer) server = raw_server_new (&answer, 1);
      g_autoptr (OwModel) model = make_model (server, NULL, NULL);
      g_auto (Asking) asking = { 0 };

      g_test_message ("seed %u", seed);
      ask (model, &asking);
      g_assert_no_error (asking.error);
      streams_check (stream, asking.turn);
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, 1);
    }
}

/* Connections that end within a framed body, at places all over it: once something was said it is
 * not asked again, and nothing of it runs. */
static void
test_cut (void)
{
  g_autoptr (Stream) stream = streams_make (STREAMS_N_DIALECTS * 7, 3, 12);
  gsize    end = stream->body->len - strlen ("data: [DONE]\r\n\r\n");
  GString *body = stream->body;

  g_assert_cmpuint (json_array_size (stream->calls), >, 0);
  for (gsize length = 1; length < end; length += 17)
    {
      const RawAnswer answer = { .head = STREAM_HEAD, .body = body->str, .length = length,
                                 .chunked = TRUE, .cut = TRUE };
      g_autoptr (RawServer) server = raw_server_new (&answer, 1);
      g_autoptr (OwModel) model = make_model (server, NULL, NULL);
      g_auto (Asking) asking = { 0 };

      ask (model, &asking);
      if (asking.turn == NULL)
        {
          g_assert_error (asking.error, OW_ERROR, OW_ERROR_DATA);
          g_assert_cmpuint (raw_server_get_n_requests (server), ==, quick.max_tries);
          continue;
        }
      g_assert_nonnull (asking.turn->cut);
      g_test_message ("after %u bytes: %s", (guint) length, asking.turn->cut);
      g_assert_nonnull (strstr (asking.turn->cut, "the connection ended"));
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, 1);
    }
}

/* Whether it was the text or a piece of a call that came first: never a second time. */
static void
test_no_replay (void)
{
  static const RawAnswer answers[] = {
    { .head = STREAM_HEAD, .body = TEXT, .chunked = TRUE, .cut = TRUE },
    { .head = STREAM_HEAD, .body = TEXT },
    { .head = STREAM_HEAD, .body = CALL, .chunked = TRUE, .cut = TRUE },
    { .head = STREAM_HEAD, .body = CALL },
    { .head = STREAM_HEAD "\r\nContent-Length: 5000", .body = CALL },
    { .head = STREAM_HEAD, .body = TEXT CALL "data: {\"error\":{\"message\":\"gone\",\"code\":503}}\n\n" },
    { .head = STREAM_HEAD, .body = CALL "data: nonsense\n\n", .chunked = TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (RawServer) server = raw_server_new (&answers[i], 1);
      g_autoptr (OwModel) model = make_model (server, NULL, NULL);
      g_auto (Asking) asking = { 0 };

      ask (model, &asking);
      g_assert_no_error (asking.error);
      g_assert_nonnull (asking.turn->cut);
      g_assert_cmpstr (asking.turn->finish, ==, "cut");
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, 1);
    }
}

/* Nothing had come: asked again, and well the second time. */
static void
test_retry (void)
{
  static const RawAnswer first[] = {
    { .head = STATUS ("429 x"), .body = "{}" }, { .head = STATUS ("500 x"), .body = "{}" },
    { .head = STATUS ("502 x"), .body = "{}" }, { .head = STATUS ("503 x"), .body = "{}" },
    { .head = STATUS ("504 x"), .body = "{}" }, { .head = STATUS ("529 x"), .body = "{}" },
    { .head = STATUS ("429 x\r\nRetry-After: 0"), .body = "{}" },
    { .head = STATUS ("503 x\r\nRetry-After: soon"), .body = "{}" },
    { .head = STATUS ("503 x\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT"), .body = "{}" },
    { .head = NULL },
    { .head = STREAM_HEAD }, { .head = STREAM_HEAD, .body = "", .chunked = TRUE },
    { .head = STREAM_HEAD, .body = ": hello\n\n", .chunked = TRUE, .cut = TRUE },
    { .head = STREAM_HEAD, .body = CHUNK ("{\"role\":\"assistant\"}"), .chunked = TRUE },
    { .head = STREAM_HEAD, .body = "data: {\"cho", .chunked = TRUE, .cut = TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (first); i++)
    {
      const RawAnswer answers[] = { first[i], first[i], GOOD };
      g_autoptr (RawServer) server = raw_server_new (answers, 3);
      g_autoptr (OwModel) model = make_model (server, NULL, NULL);
      g_auto (Asking) asking = { 0 };

      g_test_message ("case %u", i);
      ask (model, &asking);
      g_assert_no_error (asking.error);
      g_assert_null (asking.turn->cut);
      g_assert_cmpstr (asking.turn->text, ==, "I look.");
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, 3);
    }
}

typedef struct {
  RawAnswer   answer;
  const char *key;
  guint       tries;
  int         kind;
  int         exit_status;
  const char *says[4];
} Refusal;

#define SAYS(words) "{\"error\":{\"message\":\"" words "\",\"type\":\"x\",\"code\":null}}"

static const Refusal refusals[] = {
  { { .head = STATUS ("401 x"), .body = SAYS ("Bad key.") }, KEY, 1, OW_ERROR_REFUSED, 69,
    { "refuses the key (status 401)", "\"Bad key.\"", "OPENWORKER_API_KEY" } },
  { { .head = STATUS ("403 x"), .body = "{\"detail\":\"No.\"}" }, KEY, 1, OW_ERROR_REFUSED, 69,
    { "refuses the key (status 403)", "\"No.\"", "openworker model add" } },
  { { .head = STATUS ("401 x"), .body = "{\"error\":\"Who?\"}" }, NULL, 1, OW_ERROR_REFUSED, 69,
    { "asks for a key (status 401)", "\"Who?\"", "OPENWORKER_API_KEY" } },
  /* A server that says the key back: it is in no message. */
  { { .head = STATUS ("401 x"), .body = SAYS ("Incorrect API key provided: " KEY ".") }, KEY, 1,
    OW_ERROR_REFUSED, 69, { "refuses the key", "Incorrect API key provided" } },
  { { .head = STATUS ("404 x"), .body = SAYS ("No such model.") }, NULL, 1, OW_ERROR_FAILED, 1,
    { "no model \"m\" at http://127.0.0.1:", "\"No such model.\"", "ends in /v1" } },
  { { .head = STATUS ("400 x"), .body = SAYS ("maximum context length is 8192") }, NULL, 1,
    OW_ERROR_FAILED, 1, { "does not take the request (status 400)", "maximum context length",
                          "Begin a new session" } },
  { { .head = STATUS ("413 x"), .body = "[{\"error\":{\"message\":\"Too large.\"}}]" }, NULL, 1,
    OW_ERROR_FAILED, 1, { "(status 413)", "\"Too large.\"" } },
  { { .head = STATUS ("422 x"), .body = "{\"detail\":[{\"msg\":\"Extra.\"}]}" }, NULL, 1,
    OW_ERROR_FAILED, 1, { "(status 422)", "\"Extra.\"" } },
  { { .head = STATUS ("418 x"), .body = "no JSON" }, NULL, 1, OW_ERROR_FAILED, 1,
    { "(status 418). Begin" } },
  { { .head = "HTTP/1.1 400 x\r\nContent-Type: text/plain", .body = "  a \x1b[2J\nb\xff " }, NULL,
    1, OW_ERROR_FAILED, 1, { "\"a ^[[2J b\xef\xbf\xbd\"" } },
  { { .head = "HTTP/1.1 400 x\r\nContent-Type: text/html", .body = "<html>hello" }, NULL, 1,
    OW_ERROR_FAILED, 1, { "(status 400). Begin" } },
  { { .head = STATUS ("429 x"), .body = SAYS ("Slow down.") }, NULL, 5, OW_ERROR_FAILED, 1,
    { "has too much to do (status 429, asked 5 times)", "\"Slow down.\"", "Try again later" } },
  { { .head = STATUS ("500 x"), .body = "" }, NULL, 5, OW_ERROR_FAILED, 1,
    { "has failed (status 500, asked 5 times)" } },
  { { .head = STATUS ("429 x"), .body = "{\"error\":{\"message\":\"Pay.\",\"code\":\"insufficient_quota\"}}" },
    KEY, 1, OW_ERROR_FAILED, 1, { "no credit left", "\"Pay.\"", "billing" } },
  { { .head = "HTTP/1.1 200 OK\r\nContent-Type: text/html", .body = "<html>Log in</html>" }, NULL,
    1, OW_ERROR_DATA, 1, { "sends no stream of events: it is text/html", "wants a login" } },
  { { .head = STATUS ("200 OK"), .body = "{\"choices\":[]}" }, NULL, 1, OW_ERROR_DATA, 1,
    { "sends no stream of events: it is application/json" } },
  { { .head = "HTTP/1.1 200 OK", .body = TEXT FINISH }, NULL, 1, OW_ERROR_DATA, 1,
    { "sends no stream of events: it does not say what it is" } },
  { { .head = "HTTP/1.1 307 x\r\nLocation: http://example.org/", .body = "" }, KEY, 1,
    OW_ERROR_DATA, 1, { "leads elsewhere", "http://example.org/" } },
  { { .head = "SSH-2.0-OpenSSH_9.2", .body = "" }, NULL, 1, OW_ERROR_DATA, 1,
    { "cannot be used" } },
  { { .head = STREAM_HEAD, .body = "data: {\"error\":{\"message\":\"Full: " KEY "\"}}\n\n" }, KEY,
    1, OW_ERROR_FAILED, 1, { "gave no answer: the server reported an error: \"Full: [key]\"" } },
  { { .head = STREAM_HEAD, .body = "data: nonsense\n\n" }, NULL, 1, OW_ERROR_DATA, 1,
    { "gave no answer: a chunk of it cannot be read" } },
  { { .head = NULL }, NULL, 5, OW_ERROR_FAILED, 1, { "closed the connection without an answer" } },
};

static void
test_refusals (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (refusals); i++)
    {
      const Refusal *refusal = &refusals[i];
      g_autoptr (RawServer) server = raw_server_new (&refusal->answer, 1);
      g_autoptr (OwModel) model = make_model (server, refusal->key, NULL);
      g_auto (Asking) asking = { 0 };

      ask (model, &asking);
      g_assert_null (asking.turn);
      g_test_message ("case %u: %s", i, asking.error->message);
      g_assert_error (asking.error, OW_ERROR, refusal->kind);
      g_assert_cmpint (ow_error_exit_status (asking.error), ==, refusal->exit_status);
      for (guint j = 0; j < G_N_ELEMENTS (refusal->says) && refusal->says[j] != NULL; j++)
        g_assert_nonnull (strstr (asking.error->message, refusal->says[j]));
      g_assert_null (strstr (asking.error->message, KEY));
      g_assert_null (strchr (asking.error->message, '\n'));
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, refusal->tries);
    }
}

static void
test_nobody_there (void)
{
  static const RawAnswer answers[] = { GOOD };
  RawServer *server = raw_server_new (answers, 1);
  g_autoptr (OwModel) model = make_model (server, NULL, NULL);
  g_auto (Asking) asking = { 0 };

  raw_server_free (server);
  ask (model, &asking);
  g_assert_error (asking.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (asking.error->message, "refused the connection"));
}

/* A key that would be said back within an answer that was cut. */
static void
test_cut_without_key (void)
{
  static const RawAnswer answers[] = {
    { .head = STREAM_HEAD, .body = TEXT "data: {\"error\":\"for " KEY "\"}\n\n" },
  };
  g_autoptr (RawServer) server = raw_server_new (answers, 1);
  g_autoptr (OwModel) model = make_model (server, KEY, NULL);
  g_auto (Asking) asking = { 0 };

  ask (model, &asking);
  g_assert_cmpstr (asking.turn->cut, ==, "The server reported an error: \"for [key]\".");
}

/* Where what a server says is made short there is no part of a key either, wherever it stands and
 * however the server writes it. */
static void
test_key_in_long_words (void)
{
  static const char * const keys[] = { KEY, "sk-test-0123456789abcd\\u0065f" };
  static const struct { const char *head; const char *before; const char *after; } forms[] = {
    { STREAM_HEAD, "data: {\"error\":{\"message\":\"", "\"}}\n\n" },
    { STREAM_HEAD, TEXT "data: {\"error\":\"", "\"}\n\n" },
    { STREAM_HEAD, TEXT "event: error\ndata: {\"detail\":\"", "\"}\n\n" },
    { STATUS ("401 x"), "{\"error\":{\"message\":\"", "\"}}" },
    { STATUS ("500 x"), "{\"detail\":[{\"msg\":\"", "\"}]}" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (forms) * G_N_ELEMENTS (keys); i++)
    {
      const char *head = forms[i / 2].head;

      for (gsize pad = 300 - strlen (KEY) - 4; pad < 304; pad += 3)
        {
          g_autofree char *filler = g_strnfill (pad, '.');
          g_autofree char *body = g_strconcat (forms[i / 2].before, filler, keys[i % 2],
                                               keys[i % 2], forms[i / 2].after, NULL);
          const RawAnswer answer = { .head = head, .body = body };
          g_autoptr (RawServer) server = raw_server_new (&answer, 1);
          g_autoptr (OwModel) model = make_model (server, KEY, NULL);
          g_auto (Asking) asking = { 0 };
          const char *says;

          ask (model, &asking);
          says = asking.error != NULL ? asking.error->message : asking.turn->cut;
          g_test_message ("form %u, %u before: %s", (guint) i, (guint) pad, says);
          g_assert_nonnull (strstr (says, "...."));
          g_assert_null (strstr (says, "sk-"));
        }
    }
}

/* A server that cannot tell tokens is asked without, and remembered. */
static void
test_no_usage (void)
{
  static const RawAnswer answers[] = {
    { .head = STATUS ("422 x"),
      .body = "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"stream_options\"]}]}" },
    GOOD,
  };
  g_autoptr (RawServer) server = raw_server_new (answers, 2);
  g_autoptr (OwModel) model = make_model (server, NULL, NULL);

  for (guint i = 0; i < 2; i++)
    {
      g_auto (Asking) asking = { 0 };

      ask (model, &asking);
      g_assert_no_error (asking.error);
      g_assert_null (asking.turn->cut);
    }
  g_assert_cmpuint (raw_server_get_n_requests (server), ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *request = raw_server_get_request (server, i);

      g_assert_true ((strstr (request, "stream_options") != NULL) == (i == 0));
    }
}

/* What takes too long ends, each with its own deadline, and what was said is kept. */
static void
test_deadlines (void)
{
  static const struct { RawAnswer answer; gboolean begun; const char *says; } slow[] = {
    { { .head = NULL, .hold = TRUE }, FALSE, "gave no answer within" },
    { { .head = STREAM_HEAD, .hold = TRUE, .chunked = TRUE }, FALSE, "nothing came for" },
    { { .head = STREAM_HEAD, .body = TEXT, .hold = TRUE, .chunked = TRUE }, TRUE,
      "nothing came for" },
    { { .head = STREAM_HEAD, .body = CALL, .hold = TRUE, .chunked = TRUE }, TRUE,
      "nothing came for" },
    { { .head = STREAM_HEAD, .body = ": here\n\n", .delay_ms = 10, .repeat = 100000 }, FALSE,
      "only that it is still there" },
    { { .head = STREAM_HEAD, .body = TEXT, .delay_ms = 5, .chunk = 1, .repeat = 1000 }, TRUE,
      "longest that it may take" },
  };
  OwOpenaiTiming timing = quick;

  timing.first_byte = timing.idle = timing.chunk = 400;
  timing.total = 3000;
  for (guint i = 0; i < G_N_ELEMENTS (slow); i++)
    {
      g_autoptr (RawServer) server = raw_server_new (&slow[i].answer, 1);
      g_autoptr (OwModel) model = make_model (server, NULL, &timing);
      g_auto (Asking) asking = { 0 };
      gint64 began = g_get_monotonic_time ();

      ask (model, &asking);
      g_test_message ("case %u: %s", i, asking.error != NULL ? asking.error->message
                                                            : asking.turn->cut);
      g_assert_true (slow[i].begun == (asking.turn != NULL));
      if (asking.turn == NULL)
        g_assert_error (asking.error, OW_ERROR, OW_ERROR_TIMED_OUT);
      g_assert_nonnull (strstr (asking.turn != NULL ? asking.turn->cut : asking.error->message,
                                slow[i].says));
      g_assert_cmpint (g_get_monotonic_time () - began, <, 40 * G_USEC_PER_SEC);
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, 1);
    }
}

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A1024 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64 A64

/* Text, arguments, one line, thoughts without end: each comes to an end. */
static void
test_endless (void)
{
  static const struct { const char *body; gboolean begun; const char *says; } endless[] = {
    { CHUNK ("{\"content\":\"and so on and so on \"}"), TRUE, "text is longer than 512 KiB" },
    { CHUNK ("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"" A1024 "\"}}]}"), TRUE,
      "arguments of its tool calls are longer than 4 MiB" },
    { "data: " A1024, FALSE, "longer than 4 MiB" },
    { "data: " A1024 "\n", FALSE, "longer than 4 MiB" },
    { CHUNK ("{\"reasoning_content\":\"" A1024 A1024 A1024 A1024 "\"}"), FALSE,
      "longer than an answer may be" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (endless); i++)
    {
      const RawAnswer answer = { .head = STREAM_HEAD, .body = endless[i].body,
                                 .repeat = 10000000, .chunked = TRUE };
      g_autoptr (RawServer) server = raw_server_new (&answer, 1);
      g_autoptr (OwModel) model = make_model (server, NULL, NULL);
      g_auto (Asking) asking = { 0 };
      const char *said;

      ask (model, &asking);
      said = asking.turn != NULL ? asking.turn->cut : asking.error->message;
      g_test_message ("case %u: %s", i, said);
      g_assert_true (endless[i].begun == (asking.turn != NULL));
      g_assert_nonnull (strstr (said, endless[i].says));
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, 1);
    }
}

static void
test_big_event (void)
{
  g_autofree char *text = g_strnfill (10 * 1024 * 1024, 'a');
  g_autofree char *body = g_strdup_printf (TEXT "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}"
                                           "\n\n" CALL FINISH, text);
  const RawAnswer answer = { .head = STREAM_HEAD, .body = body, .chunked = TRUE };
  g_autoptr (RawServer) server = raw_server_new (&answer, 1);
  g_autoptr (OwModel) model = make_model (server, NULL, NULL);
  g_auto (Asking) asking = { 0 };

  ask (model, &asking);
  g_assert_nonnull (strstr (asking.turn->cut, "longer than 4 MiB"));
  g_assert_cmpstr (asking.turn->text, ==, "I look.");
}

static gboolean
on_cancel (gpointer user_data)
{
  g_cancellable_cancel (user_data);
  return G_SOURCE_REMOVE;
}

/* Stopped before it asks, while it waits for the head, for the next try, and within the text. */
static void
test_stop (void)
{
  static const RawAnswer answers[] = {
    GOOD,
    { .head = NULL, .hold = TRUE },
    { .head = STATUS ("429 x\r\nRetry-After: 50"), .body = "{}" },
    { .head = STREAM_HEAD, .body = TEXT, .delay_ms = 20, .repeat = 100000, .chunked = TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (RawServer) server = raw_server_new (&answers[i], 1);
      g_autoptr (OwModel) model = make_model (server, NULL, NULL);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_auto (Asking) asking = { .cancellable = cancellable, .cancel_at = i == 3 ? 20 : 0 };
      gint64 began = g_get_monotonic_time ();

      if (i == 0)
        g_cancellable_cancel (cancellable);
      else if (i < 3)
        g_timeout_add (300, on_cancel, cancellable);
      ask (model, &asking);
      g_assert_cmpint (g_get_monotonic_time () - began, <, 10 * G_USEC_PER_SEC);
      g_assert_cmpuint (raw_server_get_n_requests (server), ==, i == 0 ? 0 : 1);
      if (i < 3)
        g_assert_error (asking.error, OW_ERROR, OW_ERROR_INTERRUPTED);
      else
        g_assert_nonnull (asking.turn->cut);
      if (i == 3)
        g_assert_true (g_str_has_prefix (asking.turn->text, "I look.I look."));
    }
}

/* What the server says is waited for, and no longer than all tries may take. */
static void
test_retry_after (void)
{
  static const RawAnswer answers[] = {
    { .head = STATUS ("429 x\r\nRetry-After: 1"), .body = "{}" }, GOOD,
  };
  static const RawAnswer long_ones[] = {
    { .head = STATUS ("429 x\r\nRetry-After: 50"), .body = "{}" }, GOOD,
  };
  g_autoptr (RawServer) server = raw_server_new (answers, 2);
  g_autoptr (RawServer) long_server = raw_server_new (long_ones, 2);
  g_autoptr (OwModel) model = make_model (server, NULL, NULL);
  OwOpenaiTiming timing = quick;
  g_autoptr (OwModel) hurried = NULL;
  g_auto (Asking) asking = { 0 };
  g_auto (Asking) gives_up = { 0 };
  gint64 began = g_get_monotonic_time ();

  ask (model, &asking);
  g_assert_no_error (asking.error);
  g_assert_cmpint (g_get_monotonic_time () - began, >=, G_USEC_PER_SEC);
  g_assert_cmpuint (raw_server_get_n_requests (server), ==, 2);

  timing.retry_total = 5000;
  hurried = make_model (long_server, NULL, &timing);
  began = g_get_monotonic_time ();
  ask (hurried, &gives_up);
  g_assert_error (gives_up.error, OW_ERROR, OW_ERROR_FAILED);
  g_assert_nonnull (strstr (gives_up.error->message, "asked 1 time)"));
  g_assert_cmpint (g_get_monotonic_time () - began, <, 20 * G_USEC_PER_SEC);
}

static gpointer
ask_in_thread (gpointer user_data)
{
  RawServer *server = user_data;
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (OwModel) model = NULL;
  g_auto (Asking) asking = { .context = context };

  g_main_context_push_thread_default (context);
  model = make_model (server, KEY, NULL);
  ask (model, &asking);
  g_assert_no_error (asking.error);
  g_assert_null (asking.turn->cut);
  g_clear_object (&model);
  g_main_context_pop_thread_default (context);
  return NULL;
}

/* In a thread of its own with a context of its own, waits between tries included: nothing of it
 * runs in the program's. */
static void
test_thread (void)
{
  static const RawAnswer answers[] = { { .head = STATUS ("503 x"), .body = "{}" }, GOOD };
  g_autoptr (RawServer) server = raw_server_new (answers, 2);
  GThread *thread = g_thread_new ("engine", ask_in_thread, server);

  g_thread_join (thread);
  g_assert_cmpuint (raw_server_get_n_requests (server), ==, 2);
  g_assert_false (g_main_context_pending (NULL));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openai-model/answer", test_answer);
  g_test_add_func ("/openai-model/P08/streams", test_streams);
  g_test_add_func ("/openai-model/A39/cut", test_cut);
  g_test_add_func ("/openai-model/P08/no-replay", test_no_replay);
  g_test_add_func ("/openai-model/retry", test_retry);
  g_test_add_func ("/openai-model/refusals", test_refusals);
  g_test_add_func ("/openai-model/nobody-there", test_nobody_there);
  g_test_add_func ("/openai-model/cut-without-key", test_cut_without_key);
  g_test_add_func ("/openai-model/key-in-long-words", test_key_in_long_words);
  g_test_add_func ("/openai-model/no-usage", test_no_usage);
  g_test_add_func ("/openai-model/P08/deadlines", test_deadlines);
  g_test_add_func ("/openai-model/P08/endless", test_endless);
  g_test_add_func ("/openai-model/P08/big-event", test_big_event);
  g_test_add_func ("/openai-model/stop", test_stop);
  g_test_add_func ("/openai-model/retry-after", test_retry_after);
  g_test_add_func ("/openai-model/thread", test_thread);
  return g_test_run ();
}

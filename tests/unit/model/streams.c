/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "streams.h"

#include <stdlib.h>
#include <string.h>

/* How the pieces of calls are written. */
typedef enum {
  PIECES_BY_INDEX,      /* id and name first, then arguments by index, calls taking turns */
  PIECES_EMPTY_NAMES,   /* the same, with "" for id and name in what follows */
  PIECES_NULL_NAMES,    /* the same, with null */
  PIECES_REPEATED,      /* the same, with id and name in every piece */
  PIECES_LATE_NAME,     /* id and name in a piece at the end */
  PIECES_FROM_ONE,      /* indexes that do not begin with 0 */
  PIECES_ALL_ZERO,      /* every call has index 0, its pieces in one go */
  PIECES_NEW_IDS,       /* index 0, and a new id and the name again in every piece */
  PIECES_NO_INDEX,      /* no index: an id opens a call, its pieces follow */
  PIECES_WHOLE,         /* no index, each call in one piece */
  PIECES_WHOLE_LIST,    /* all calls in one chunk */
  PIECES_OBJECTS,       /* arguments as an object, no ids */
  PIECES_NO_IDS,        /* by index, without ids */
  PIECES_SENT_AGAIN,    /* by index, and every call again whole at the end */
} Pieces;

typedef struct {
  const char *name;
  Pieces      pieces;
  const char *finish_for_calls;
  const char *comment;      /* (nullable) kept alive with it */
  gboolean    reasoning;
  gboolean    role_first;
  gboolean    parts;        /* text as a list of parts */
  gboolean    usage_inside; /* usage in the chunk with the finish_reason */
  gboolean    no_done;
} Dialect;

static const Dialect dialects[STREAMS_N_DIALECTS] = {
  { .name = "plain", .pieces = PIECES_BY_INDEX, .finish_for_calls = "tool_calls",
    .role_first = TRUE },
  { .name = "empty-names", .pieces = PIECES_EMPTY_NAMES, .finish_for_calls = "tool_calls" },
  { .name = "null-names", .pieces = PIECES_NULL_NAMES, .finish_for_calls = "tool_calls",
    .role_first = TRUE },
  { .name = "repeated", .pieces = PIECES_REPEATED, .finish_for_calls = "tool_calls",
    .comment = ": keep-alive", .reasoning = TRUE },
  { .name = "late-name", .pieces = PIECES_LATE_NAME, .finish_for_calls = "stop" },
  { .name = "from-one", .pieces = PIECES_FROM_ONE, .finish_for_calls = "tool_calls",
    .no_done = TRUE },
  { .name = "all-zero", .pieces = PIECES_ALL_ZERO, .finish_for_calls = "stop",
    .usage_inside = TRUE },
  { .name = "new-ids", .pieces = PIECES_NEW_IDS, .finish_for_calls = "tool_calls",
    .reasoning = TRUE },
  { .name = "no-index", .pieces = PIECES_NO_INDEX, .finish_for_calls = "tool_calls" },
  { .name = "whole", .pieces = PIECES_WHOLE, .finish_for_calls = "stop", .no_done = TRUE },
  { .name = "whole-list", .pieces = PIECES_WHOLE_LIST, .finish_for_calls = "tool_calls",
    .parts = TRUE, .usage_inside = TRUE },
  { .name = "objects", .pieces = PIECES_OBJECTS, .finish_for_calls = "stop" },
  { .name = "no-ids", .pieces = PIECES_NO_IDS, .finish_for_calls = "function_call",
    .comment = ": PROCESSING" },
  { .name = "sent-again", .pieces = PIECES_SENT_AGAIN, .finish_for_calls = "tool_calls",
    .usage_inside = TRUE },
};

typedef struct {
  Stream        *stream;
  const Dialect *dialect;
  GRand         *random;
  const char    *line_end;
  gboolean       ascii;    /* escapes in place of other characters */
  gboolean       pretty;   /* JSON over several data lines */
} Writer;

static guint
draw (Writer *writer,
      guint   n)
{
  return n > 0 ? (guint) g_rand_int_range (writer->random, 0, (gint32) n) : 0;
}

static void
write_data (Writer     *writer,
            const char *data)
{
  g_auto (GStrv) lines = g_strsplit (data, "\n", -1);
  GString *body = writer->stream->body;

  if (writer->dialect->comment != NULL && draw (writer, 3) == 0)
    g_string_append_printf (body, "%s%s%s", writer->dialect->comment, writer->line_end,
                            draw (writer, 2) == 0 ? writer->line_end : "");
  for (guint i = 0; lines[i] != NULL; i++)
    g_string_append_printf (body, "data:%s%s%s", draw (writer, 8) == 0 && lines[i][0] != ' '
                            ? "" : " ", lines[i], writer->line_end);
  g_string_append (body, writer->line_end);
}

/* Steals @json. */
static void
write_json (Writer *writer,
            json_t *json)
{
  size_t flags = (writer->ascii ? JSON_ENSURE_ASCII : 0) |
                 (writer->pretty ? JSON_INDENT (1) : JSON_COMPACT);
  char  *text = json_dumps (json, flags);

  g_assert_nonnull (text);
  write_data (writer, text);
  free (text);
  json_decref (json);
}

/* Steals @delta; @finish and @usage (stolen) are nullable. */
static void
write_chunk (Writer     *writer,
             json_t     *delta,
             const char *finish,
             json_t     *usage)
{
  json_t *chunk = json_pack ("{s:s, s:s, s:i, s:s, s:[{s:i, s:o, s:s?}]}", "id", "chatcmpl-1",
                             "object", "chat.completion.chunk", "created", 1700000000, "model", "m",
                             "choices", "index", 0, "delta", delta, "finish_reason", finish);

  g_assert_nonnull (chunk);
  if (usage != NULL)
    json_object_set_new (chunk, "usage", usage);
  else if (draw (writer, 4) == 0)
    json_object_set_new (chunk, "usage", json_null ());
  write_json (writer, chunk);
}

static char *
make_text (Writer *writer)
{
  static const char * const words[] = {
    "I look. ", "\n", "\xc3\xa9t\xc3\xa9 ", "\xe6\x97\xa5\xe6\x9c\xac ", "\xf0\x9f\x98\x80 ", "\"", "\\", "{", "}",
    "[DONE]", "data: ", ": ", "\t", "</div>", "%s", "$(x)", "\xe2\x80\xae", "0", "\r\n", "a",
  };
  GString *text = g_string_new (NULL);

  for (guint n = draw (writer, 6); n > 0; n--)
    g_string_append (text, words[draw (writer, G_N_ELEMENTS (words))]);
  return g_string_free (text, FALSE);
}

static json_t *
make_value (Writer *writer,
            guint   depth)
{
  g_autofree char *text = make_text (writer);
  json_t *value;

  switch (draw (writer, depth > 2 ? 4 : 6))
    {
    case 0:
      return json_integer ((json_int_t) draw (writer, 1000000) - 500000);
    case 1:
      return json_boolean (draw (writer, 2));
    case 2:
      return json_null ();
    case 4:
      value = json_array ();
      for (guint n = draw (writer, 3); n > 0; n--)
        json_array_append_new (value, make_value (writer, depth + 1));
      return value;
    case 5:
      value = json_object ();
      for (guint n = draw (writer, 3); n > 0; n--)
        {
          g_autofree char *key = g_strdup_printf ("k%u\xc3\xa4", n);

          json_object_set_new (value, key, make_value (writer, depth + 1));
        }
      return value;
    default:
      return json_string (text);
    }
}

static json_t *
make_arguments (Writer *writer)
{
  g_autofree char *text = make_text (writer);
  json_t *arguments = json_object ();

  json_object_set_new (arguments, "command", json_string (text));
  for (guint n = draw (writer, 4); n > 0; n--)
    {
      g_autofree char *key = g_strdup_printf ("m%u", n);

      json_object_set_new (arguments, key, make_value (writer, 0));
    }
  return arguments;
}

static gboolean
gives_ids (const Dialect *dialect)
{
  return dialect->pieces != PIECES_OBJECTS && dialect->pieces != PIECES_NO_IDS;
}

static void
make_calls (Writer *writer,
            guint   max_calls)
{
  static const char * const names[] = { "shell", "read", "list", "edit" };

  for (guint i = 0, n = draw (writer, max_calls + 1); i < n; i++)
    {
      json_t *call = json_pack ("{s:s, s:o}", "name", names[draw (writer, 4)], "arguments",
                                make_arguments (writer));
      g_autofree char *id = g_strdup_printf ("call_%u_%u", i, draw (writer, 1000000));

      if (gives_ids (writer->dialect))
        json_object_set_new (call, "id", json_string (id));
      json_array_append_new (writer->stream->calls, call);
    }
}

/* One piece of call @n. @id, @name, @arguments are nullable: not there. Steals @arguments. */
static json_t *
make_piece (Writer     *writer,
            guint       n,
            const char *id,
            const char *name,
            json_t     *arguments)
{
  Pieces  pieces = writer->dialect->pieces;
  json_t *function = json_object ();
  json_t *piece = json_object ();

  if (pieces == PIECES_ALL_ZERO || pieces == PIECES_NEW_IDS)
    n = 0;
  else if (pieces == PIECES_FROM_ONE)
    n = 1 + 2 * n;
  if (pieces != PIECES_NO_INDEX && pieces != PIECES_WHOLE)
    json_object_set_new (piece, "index", json_integer (n));
  if (id != NULL)
    json_object_set_new (piece, "id", json_string (id));
  if (name != NULL || draw (writer, 2) == 0)
    json_object_set_new (piece, "type", json_string ("function"));
  if (name != NULL)
    json_object_set_new (function, "name", json_string (name));
  if (arguments != NULL)
    json_object_set_new (function, "arguments", arguments);
  if (pieces == PIECES_NULL_NAMES && name == NULL)
    {
      json_object_set_new (function, "name", json_null ());
      json_object_set_new (piece, "id", json_null ());
    }
  json_object_set_new (piece, "function", function);
  return piece;
}

static void
write_piece (Writer *writer,
             json_t *piece)
{
  json_t *delta = json_pack ("{s:[o]}", "tool_calls", piece);

  if (draw (writer, 4) == 0)
    json_object_set_new (delta, "content", json_null ());
  write_chunk (writer, delta, NULL, NULL);
}

/* The pieces of call @n, to be written one after the other. */
static GPtrArray *
make_pieces (Writer *writer,
             guint   n,
             guint   max_pieces)
{
  const json_t *call = json_array_get (writer->stream->calls, n);
  const char   *id = json_string_value (json_object_get (call, "id"));
  const char   *name = json_string_value (json_object_get (call, "name"));
  char         *text = json_dumps (json_object_get (call, "arguments"), JSON_COMPACT);
  GPtrArray    *made = g_ptr_array_new ();
  Pieces        pieces = writer->dialect->pieces;
  gboolean      late = pieces == PIECES_LATE_NAME;
  gboolean      joined = pieces == PIECES_NEW_IDS;
  const char   *at = text;

  if (pieces == PIECES_OBJECTS)
    g_ptr_array_add (made, make_piece (writer, n, NULL, name,
                                       json_deep_copy (json_object_get (call, "arguments"))));
  else if (pieces == PIECES_WHOLE || pieces == PIECES_WHOLE_LIST)
    g_ptr_array_add (made, make_piece (writer, n, id, name, json_string (text)));
  else if (!joined)
    g_ptr_array_add (made, make_piece (writer, n, late ? NULL : id, late ? NULL : name,
                                       json_string ("")));
  while (*at != '\0' && (made->len == 0 || (pieces != PIECES_OBJECTS && pieces != PIECES_WHOLE &&
                                            pieces != PIECES_WHOLE_LIST)))
    {
      gboolean    last = made->len >= max_pieces;
      const char *end = last ? at + strlen (at) : g_utf8_offset_to_pointer (at, 1);
      const char *said_id = pieces == PIECES_EMPTY_NAMES ? "" : NULL;
      const char *said_name = said_id;
      g_autofree char *piece = NULL;
      g_autofree char *new_id = g_strdup_printf ("%s_%u", id != NULL ? id : "x", made->len);

      for (guint more = last ? 0 : draw (writer, 8); more > 0 && *end != '\0'; more--)
        end = g_utf8_next_char (end);
      piece = g_strndup (at, (gsize) (end - at));
      at = end;
      if (pieces == PIECES_REPEATED || joined)
        {
          said_id = joined && made->len > 0 ? new_id : id;
          said_name = name;
        }
      g_ptr_array_add (made, make_piece (writer, n, said_id, said_name, json_string (piece)));
    }
  if (late)
    g_ptr_array_add (made, make_piece (writer, n, id, name, NULL));
  if (pieces == PIECES_SENT_AGAIN)
    g_ptr_array_add (made, make_piece (writer, n, id, name, json_string (text)));
  free (text);
  return made;
}

static void
write_calls (Writer *writer,
             guint   max_pieces)
{
  gboolean in_turn = writer->dialect->pieces <= PIECES_FROM_ONE ||
                     writer->dialect->pieces >= PIECES_OBJECTS;
  guint    n = (guint) json_array_size (writer->stream->calls);
  GPtrArray *pieces[16] = { NULL };
  json_t  *list = json_array ();
  guint    left = 0;

  for (guint i = 0; i < n; i++)
    {
      pieces[i] = make_pieces (writer, i, max_pieces);
      left += pieces[i]->len;
    }
  while (left > 0)
    {
      guint i = in_turn ? draw (writer, n) : 0;

      while (pieces[i]->len == 0)
        i = (i + 1) % n;
      if (writer->dialect->pieces == PIECES_WHOLE_LIST)
        json_array_append_new (list, g_ptr_array_steal_index (pieces[i], 0));
      else
        write_piece (writer, g_ptr_array_steal_index (pieces[i], 0));
      left--;
    }
  if (json_array_size (list) > 0)
    write_chunk (writer, json_pack ("{s:O}", "tool_calls", list), NULL, NULL);
  json_decref (list);
  for (guint i = 0; i < n; i++)
    g_ptr_array_unref (pieces[i]);
}

static void
write_text (Writer *writer,
            guint   max_pieces)
{
  for (guint n = draw (writer, max_pieces + 1); n > 0; n--)
    {
      g_autofree char *text = make_text (writer);
      json_t *delta = writer->dialect->parts && draw (writer, 2) == 0
        ? json_pack ("{s:[{s:s, s:s}, {s:s, s:s}]}", "content", "type", "thinking", "text",
                     "hm", "type", "text", "text", text)
        : json_pack ("{s:s}", "content", text);

      if (writer->dialect->reasoning && draw (writer, 2) == 0)
        json_object_set_new (delta, "reasoning_content", json_string ("Hm."));
      g_string_append (writer->stream->text, text);
      write_chunk (writer, delta, NULL, NULL);
    }
}

static void
write_end (Writer *writer)
{
  Stream     *stream = writer->stream;
  gboolean    calls = json_array_size (stream->calls) > 0;
  gboolean    tells = draw (writer, 3) > 0;
  guint       input = draw (writer, 100000);
  guint       output = draw (writer, 1000);
  json_t     *usage = tells ? json_pack ("{s:i, s:i, s:i}", "prompt_tokens", input,
                                         "completion_tokens", output, "total_tokens",
                                         input + output) : NULL;
  gboolean    inside = writer->dialect->usage_inside;

  if (tells)
    stream->usage = json_pack ("{s:i, s:i}", "input_tokens", input, "output_tokens", output);
  stream->finish_from = stream->body->len;
  write_chunk (writer, draw (writer, 2) == 0 ? json_object () : json_pack ("{s:s}", "content", ""),
               calls ? writer->dialect->finish_for_calls : "stop", inside ? usage : NULL);
  stream->finish_to = stream->body->len;
  if (tells && !inside)
    write_json (writer, json_pack ("{s:s, s:[], s:o}", "id", "chatcmpl-1", "choices", "usage",
                                   usage));
  stream->has_done = !writer->dialect->no_done;
  if (stream->has_done)
    write_data (writer, "[DONE]");
}

Stream *
streams_make (guint32 seed,
              guint   max_calls,
              guint   max_pieces)
{
  static const char * const line_ends[] = { "\n", "\n", "\r\n", "\r" };
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  Stream *stream = g_new0 (Stream, 1);
  Writer  writer = { .stream = stream, .random = random };

  g_assert_cmpuint (max_calls, <=, 16);
  stream->dialect = seed % STREAMS_N_DIALECTS;
  stream->body = g_string_new (NULL);
  stream->text = g_string_new (NULL);
  stream->calls = json_array ();
  writer.dialect = &dialects[stream->dialect];
  writer.line_end = line_ends[draw (&writer, 4)];
  writer.ascii = draw (&writer, 3) == 0;
  writer.pretty = draw (&writer, 6) == 0;
  if (draw (&writer, 8) == 0)
    g_string_append (stream->body, "\xef\xbb\xbf");
  if (draw (&writer, 8) == 0)
    g_string_append_printf (stream->body, "retry: 3000%s%s", writer.line_end, writer.line_end);
  make_calls (&writer, max_calls);
  if (writer.dialect->role_first)
    write_chunk (&writer, json_pack ("{s:s, s:s}", "role", "assistant", "content", ""), NULL,
                 NULL);
  if (writer.dialect->reasoning)
    write_chunk (&writer, json_pack ("{s:n, s:s}", "content", "reasoning_content", "What?"), NULL,
                 NULL);
  write_text (&writer, max_pieces);
  write_calls (&writer, max_pieces);
  write_end (&writer);
  return stream;
}

void
streams_free (Stream *stream)
{
  g_string_free (stream->body, TRUE);
  g_string_free (stream->text, TRUE);
  json_decref (stream->calls);
  json_decref (stream->usage);
  g_free (stream);
}

void
streams_check (const Stream      *stream,
               const OwModelTurn *turn)
{
  g_autoptr (GHashTable) ids = g_hash_table_new (g_str_hash, g_str_equal);
  size_t n = json_array_size (stream->calls);

  g_test_message ("dialect %s", dialects[stream->dialect].name);
  g_assert_cmpstr (turn->cut, ==, NULL);
  g_assert_cmpstr (turn->text, ==, stream->text->str);
  g_assert_cmpstr (turn->finish, ==,
                   n > 0 ? dialects[stream->dialect].finish_for_calls : "stop");
  g_assert_cmpuint (json_array_size (turn->tool_calls), ==, n);
  for (size_t i = 0; i < n; i++)
    {
      const json_t *put = NULL;
      const json_t *call = json_array_get (turn->tool_calls, i);
      const char   *id = json_string_value (json_object_get (call, "id"));

      g_assert_nonnull (id);
      g_assert_true (g_hash_table_add (ids, (gpointer) id));
      g_assert_cmpuint (json_object_size (call), ==, 3);
      /* Calls whose pieces take turns come in the order of their beginnings. */
      for (size_t j = 0; j < n && put == NULL; j++)
        {
          const json_t *one = json_array_get (stream->calls, j);
          const char   *put_id = json_string_value (json_object_get (one, "id"));

          if (put_id != NULL ? g_str_equal (put_id, id)
              : json_equal (json_object_get (one, "arguments"),
                            json_object_get (call, "arguments")) &&
              json_equal (json_object_get (one, "name"), json_object_get (call, "name")))
            put = one;
        }
      g_assert_nonnull (put);
      g_assert_true (json_equal (json_object_get (put, "name"), json_object_get (call, "name")));
      g_assert_true (json_equal (json_object_get (put, "arguments"),
                                 json_object_get (call, "arguments")));
    }
  g_assert_true (stream->usage == NULL ? turn->usage == NULL
                                       : json_equal (stream->usage, turn->usage));
}

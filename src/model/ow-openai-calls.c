/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-openai-calls-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/ow-random.h"

/* Longer ones are no names; an id that is longer or holds other characters than ids do gets one of
 * ours in its place, as it goes into events and back to the server. */
#define MAX_NAME_BYTES 256
#define MAX_ID_BYTES 128

/* How deep arguments may nest. Events hold them a few levels down, and what is deeper than
 * OW_JSON_MAX_DEPTH there could be written and not be read again. */
#define MAX_ARGUMENTS_DEPTH 48
#define MAX_ARGUMENTS_VALUES (OW_JSON_MAX_VALUES / 2)

/* How far the arguments of a call have come, followed byte by byte: looking at them anew for
 * each piece would take a server's word for how often. */
typedef struct {
  guint    depth;
  gboolean in_string;
  gboolean escaped;
  gboolean closed;    /* the outermost value is at its end */
} Progress;

typedef struct {
  char    *id;         /* (owned) (nullable) */
  char    *name;       /* (owned) (nullable) */
  GString *arguments;  /* (owned) as text */
  Progress progress;
} Call;

struct _OwOpenaiCalls {
  GPtrArray  *calls;     /* (owned) of Call, in the order of their beginnings */
  GHashTable *by_index;  /* (owned) index → Call, the last that began with it */
  Call       *last;      /* (nullable) the last that a piece was added to */
  gsize       bytes;     /* of all arguments */
};

/* What one piece says; the strings are borrowed, empty ones are NULL. */
typedef struct {
  gboolean      has_index;
  json_int_t    index;
  const char   *id;
  const char   *name;
  const json_t *arguments;  /* (nullable) a string or an object */
} Piece;

static void
call_free (Call *call)
{
  g_free (call->id);
  g_free (call->name);
  g_string_free (call->arguments, TRUE);
  g_free (call);
}

OwOpenaiCalls *
ow_openai_calls_new (void)
{
  OwOpenaiCalls *self = g_new0 (OwOpenaiCalls, 1);

  self->calls = g_ptr_array_new_with_free_func ((GDestroyNotify) call_free);
  self->by_index = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return self;
}

void
ow_openai_calls_free (OwOpenaiCalls *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->by_index);
  g_ptr_array_unref (self->calls);
  g_free (self);
}

guint
ow_openai_calls_get_n (const OwOpenaiCalls *self)
{
  return self->calls->len;
}

static void
progress_follow (Progress   *progress,
                 const char *text,
                 gsize       length)
{
  for (gsize i = 0; i < length; i++)
    {
      char c = text[i];

      if (progress->in_string)
        {
          if (progress->escaped)
            progress->escaped = FALSE;
          else if (c == '\\')
            progress->escaped = TRUE;
          else if (c == '"')
            progress->in_string = FALSE;
        }
      else if (c == '"')
        {
          progress->in_string = TRUE;
        }
      else if (c == '{' || c == '[')
        {
          progress->depth++;
        }
      else if ((c == '}' || c == ']') && progress->depth > 0)
        {
          progress->depth--;
          progress->closed |= progress->depth == 0;
        }
    }
}

static gboolean
is_blank (const char *text)
{
  return text[strspn (text, " \t\r\n")] == '\0';
}

static const char *
get_text (const json_t *object,
          const char   *key)
{
  const char *text = ow_json_get_string (object, key, "");

  return *text != '\0' ? text : NULL;
}

static gboolean
is_text_or_nothing (const json_t *value)
{
  return value == NULL || json_is_null (value) || json_is_string (value);
}

static const char *
read_piece (Piece        *piece,
            const json_t *json)
{
  const json_t *function = json_object_get (json, "function");
  const json_t *index = json_object_get (json, "index");
  const json_t *arguments = json_object_get (function, "arguments");

  if (!json_is_object (json))
    return "a tool call is no object";
  if (function != NULL && !json_is_null (function) && !json_is_object (function))
    return "a tool call's function is no object";
  if (index != NULL && !json_is_null (index) &&
      (!json_is_integer (index) || json_integer_value (index) < 0))
    return "a tool call's index is no number";
  if (!is_text_or_nothing (json_object_get (json, "id")) ||
      !is_text_or_nothing (json_object_get (function, "name")))
    return "a tool call's id or name is no text";
  if (!is_text_or_nothing (arguments) && !json_is_object (arguments))
    return "a tool call's arguments are neither text nor an object";
  piece->has_index = json_is_integer (index);
  piece->index = json_integer_value (index);
  piece->id = get_text (json, "id");
  piece->name = get_text (function, "name");
  piece->arguments = json_is_null (arguments) ? NULL : arguments;
  if (piece->name != NULL && strlen (piece->name) > MAX_NAME_BYTES)
    return "a tool call's name is too long";
  return NULL;
}

static gboolean
has_arguments (const Piece *piece)
{
  return piece->arguments != NULL &&
         (json_is_object (piece->arguments) || !is_blank (json_string_value (piece->arguments)));
}

/* Whether @piece, which by its index or its place belongs to @call, is the beginning of
 * another one. */
static gboolean
begins_another (const Call  *call,
                const Piece *piece)
{
  gboolean other_name = piece->name != NULL && call->name != NULL &&
                        !g_str_equal (piece->name, call->name);

  if (piece->id != NULL && call->id != NULL)
    {
      if (g_str_equal (piece->id, call->id))
        return FALSE;
      /* Every call with the index 0; or a new id for every piece, which goes on with
       * arguments that have begun. */
      return call->progress.closed || other_name ||
             (piece->name != NULL && is_blank (call->arguments->str));
    }
  return piece->name != NULL && call->name != NULL && call->progress.closed &&
         (has_arguments (piece) || other_name);
}

static Call *
find_by_id (OwOpenaiCalls *self,
            const char    *id)
{
  for (guint i = 0; id != NULL && i < self->calls->len; i++)
    {
      Call *call = g_ptr_array_index (self->calls, i);

      if (call->id != NULL && g_str_equal (call->id, id))
        return call;
    }
  return NULL;
}

/* The call that @piece belongs to; NULL: a new one. */
static Call *
find_call (OwOpenaiCalls *self,
           const Piece   *piece)
{
  Call  *call = NULL;
  gint64 index = piece->index;

  if (piece->has_index)
    {
      call = g_hash_table_lookup (self->by_index, &index);
    }
  else
    {
      call = find_by_id (self, piece->id);
      if (call == NULL)
        call = self->last;
    }
  return call != NULL && !begins_another (call, piece) ? call : NULL;
}

static Call *
begin_call (OwOpenaiCalls *self,
            const Piece   *piece)
{
  Call *call = g_new0 (Call, 1);

  call->arguments = g_string_new (NULL);
  g_ptr_array_add (self->calls, call);
  if (piece->has_index)
    {
      gint64 *index = g_new (gint64, 1);

      *index = piece->index;
      g_hash_table_replace (self->by_index, index, call);
    }
  return call;
}

static const char *
append_arguments (OwOpenaiCalls *self,
                  Call          *call,
                  const char    *text,
                  gsize          length)
{
  if (length > OW_OPENAI_CALLS_MAX_BYTES - self->bytes)
    return "the arguments of its tool calls are longer than 4 MiB";
  self->bytes += length;
  g_string_append_len (call->arguments, text, (gssize) length);
  progress_follow (&call->progress, text, length);
  return NULL;
}

static const char *
add_arguments (OwOpenaiCalls *self,
               Call          *call,
               const Piece   *piece)
{
  const char *text = json_string_value (piece->arguments);
  const char *fault;
  char       *dumped;
  size_t      length;

  if (piece->arguments == NULL)
    return NULL;
  if (text != NULL)
    {
      /* Whole once and sent again whole: the same, not more of it. */
      if (call->progress.closed && g_str_equal (text, call->arguments->str))
        return NULL;
      return append_arguments (self, call, text, strlen (text));
    }
  dumped = ow_json_dump (piece->arguments, &length);
  if (dumped == NULL)
    return "a tool call's arguments cannot be written down";
  fault = call->progress.closed && g_str_equal (dumped, call->arguments->str)
            ? NULL : append_arguments (self, call, dumped, length);
  free (dumped);
  return fault;
}

static const char *
add_piece (OwOpenaiCalls *self,
           const json_t  *json)
{
  Piece       piece = { 0 };
  const char *fault = read_piece (&piece, json);
  Call       *call;

  if (fault != NULL)
    return fault;
  call = find_call (self, &piece);
  if (call == NULL)
    {
      if (self->calls->len >= OW_OPENAI_CALLS_MAX)
        return "it asks for more than 128 tool calls";
      call = begin_call (self, &piece);
    }
  self->last = call;
  if (call->id == NULL)
    call->id = g_strdup (piece.id);
  if (call->name == NULL)
    call->name = g_strdup (piece.name);
  else if (piece.name != NULL && !g_str_equal (piece.name, call->name))
    return "a tool call changes its name";
  return add_arguments (self, call, &piece);
}

const char *
ow_openai_calls_add (OwOpenaiCalls *self,
                     const json_t  *pieces)
{
  if (pieces == NULL || json_is_null (pieces))
    return NULL;
  if (!json_is_array (pieces))
    return "its tool calls are no list";
  for (size_t i = 0; i < json_array_size (pieces); i++)
    {
      const char *fault = add_piece (self, json_array_get (pieces, i));

      if (fault != NULL)
        return fault;
    }
  return NULL;
}

static gboolean
is_usable_id (const char *id)
{
  gsize length = 0;

  if (id == NULL)
    return FALSE;
  for (; id[length] != '\0'; length++)
    {
      if (!g_ascii_isgraph (id[length]) || length >= MAX_ID_BYTES)
        return FALSE;
    }
  return length > 0;
}

/* An id of its own for @call, kept in @ids. */
static const char *
make_id (const Call *call,
         GHashTable *ids)
{
  g_autofree char *random = NULL;
  char *id = NULL;

  if (is_usable_id (call->id) && !g_hash_table_contains (ids, call->id))
    id = g_strdup (call->id);
  else
    random = ow_random_hex (12, NULL);
  for (guint n = 0; id == NULL || g_hash_table_contains (ids, id); n++)
    {
      g_free (id);
      id = g_strdup_printf ("call_%s_%u", random != NULL ? random : "x", n);
    }
  g_hash_table_add (ids, id);
  return id;
}

/* Depth and number of the values in @text, which parses. */
static gboolean
is_within_limits (const char *text)
{
  guint    depth = 0;
  guint    values = 1;
  gboolean in_string = FALSE;

  for (const char *at = text; *at != '\0'; at++)
    {
      if (in_string && *at == '\\')
        at++;
      else if (*at == '"')
        in_string = !in_string;
      else if (!in_string && (*at == '{' || *at == '['))
        depth++, values++;
      else if (!in_string && (*at == '}' || *at == ']'))
        depth--;
      else if (!in_string && (*at == ',' || *at == ':'))
        values++;
      if (depth > MAX_ARGUMENTS_DEPTH || values > MAX_ARGUMENTS_VALUES)
        return FALSE;
    }
  return TRUE;
}

static json_t *
parse_arguments (const Call  *call,
                 const char **fault)
{
  char    message[OW_WIRE_ERROR_SIZE];
  json_t *arguments;

  /* How many servers write that a tool is called without any. */
  if (is_blank (call->arguments->str))
    return json_object ();
  arguments = ow_json_parse (call->arguments->str, call->arguments->len, message);
  if (!json_is_object (arguments))
    {
      json_decref (arguments);
      *fault = "the arguments of a tool call are no whole JSON object";
      return NULL;
    }
  return arguments;
}

static json_t *
make_call (const Call  *call,
           GHashTable  *ids,
           const char **fault)
{
  json_t     *arguments;
  json_t     *made;
  const char *id;

  if (call->name == NULL)
    {
      *fault = "a tool call has no name";
      return NULL;
    }
  arguments = parse_arguments (call, fault);
  if (arguments == NULL)
    return NULL;
  id = make_id (call, ids);
  made = json_object ();
  json_object_set_new (made, "id", json_string (id));
  json_object_set_new (made, "name", json_string (call->name));
  json_object_set_new (made, "arguments", arguments);
  return made;
}

/* Whether what is made can be written down and read again where it will stand. */
static gboolean
can_be_kept (const json_t *calls)
{
  size_t   length;
  char    *text = ow_json_dump (calls, &length);
  gboolean good = text != NULL && length <= OW_OPENAI_CALLS_MAX_BYTES && is_within_limits (text);

  free (text);
  return good;
}

json_t *
ow_openai_calls_make (OwOpenaiCalls *self,
                      const char   **fault)
{
  g_autoptr (GHashTable) ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  json_t *calls = json_array ();

  for (guint i = 0; i < self->calls->len; i++)
    {
      json_t *call = make_call (g_ptr_array_index (self->calls, i), ids, fault);

      if (call == NULL)
        {
          json_decref (calls);
          return NULL;
        }
      json_array_append_new (calls, call);
    }
  if (can_be_kept (calls))
    return calls;
  json_decref (calls);
  *fault = "its tool calls are too large or too deep to be kept";
  return NULL;
}

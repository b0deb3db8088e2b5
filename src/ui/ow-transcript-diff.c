/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-transcript-diff-private.h"

#include <string.h>

#include "base/ow-diff.h"

/* Bytes of a line that are looked at; fewer are shown. */
#define LINE_BYTES (OW_LINES_CHARS * 8)

gboolean
ow_transcript_diff_is_one (const char *tool)
{
  static const char * const tools[] = { "edit", "undo", "changes", NULL };

  return tool != NULL && g_strv_contains (tools, tool);
}

/* A carriage return would end a line of the card, which has its kind by its number. */
static void
append_text (GString    *out,
             const char *text,
             gsize       length)
{
  if (length > 0 && text[length - 1] == '\r')
    length--;
  for (gsize i = 0; i < length; i++)
    {
      if (text[i] == '\r')
        g_string_append (out, "^M");
      else
        g_string_append_c (out, text[i]);
    }
  g_string_append_c (out, '\n');
}

static gsize
cut_length (const char *text,
            gsize       length)
{
  if (length <= LINE_BYTES)
    return length;
  length = LINE_BYTES;
  while (length > 0 && ((guchar) text[length] & 0xc0) == 0x80)
    length--;
  return length;
}

/* FALSE: the line is not shown. */
static gboolean
append_line (OwTranscriptItem *item,
             OwDiff           *reader,
             GString          *out,
             const char       *line,
             gsize             length)
{
  guint64    number = 0;
  OwDiffKind kind = ow_diff_read (reader, line, &number);
  guint8     byte = (guint8) kind;

  switch (kind)
    {
    case OW_DIFF_FILE:
      /* A card of one file has it in its title. */
      if (g_str_equal (item->tool, "edit"))
        return FALSE;
      append_text (out, line, length);
      break;
    case OW_DIFF_HUNK:
      if (item->kinds->len == 0 || item->kinds->data[item->kinds->len - 1] < OW_DIFF_SAME)
        return FALSE;
      g_string_append (out, "⋮\n");
      break;
    case OW_DIFF_SAME:
    case OW_DIFF_ADDED:
    case OW_DIFF_REMOVED:
      item->added += kind == OW_DIFF_ADDED;
      item->removed += kind == OW_DIFF_REMOVED;
      g_string_append_printf (out, "%c%-4" G_GUINT64_FORMAT " ",
                              kind == OW_DIFF_ADDED ? '+' : kind == OW_DIFF_REMOVED ? '-' : ' ',
                              number);
      append_text (out, line + MIN (1, length), length - MIN (1, length));
      break;
    case OW_DIFF_TEXT:
    case OW_DIFF_NOTE:
    default:
      append_text (out, line, length);
      break;
    }
  if (item->kinds->len < OW_LINES_KEPT)
    g_byte_array_append (item->kinds, &byte, 1);
  return TRUE;
}

void
ow_transcript_diff_set (OwTranscriptItem *item,
                        const char       *result)
{
  g_autoptr (GString) out = g_string_new (NULL);
  OwDiff reader = { 0 };

  g_clear_pointer (&item->kinds, g_byte_array_unref);
  item->kinds = g_byte_array_new ();
  item->added = 0;
  item->removed = 0;
  for (const char *at = result != NULL ? result : ""; *at != '\0';)
    {
      gsize            length = strcspn (at, "\n");
      gsize            kept = cut_length (at, length);
      g_autofree char *line = g_strndup (at, kept);

      append_line (item, &reader, out, line, kept);
      at += length;
      at += *at == '\n';
    }
  ow_lines_set (item->lines, out->str);
}

gboolean
ow_transcript_diff_is_look (const OwEvent *asked)
{
  const char   *tool = ow_event_get_string (asked, "tool");
  const json_t *arguments = json_object_get (ow_event_get_members (asked), "arguments");

  return g_strcmp0 (tool, "changes") == 0 ||
         (g_strcmp0 (tool, "undo") == 0 && !ow_json_get_bool (arguments, "apply", FALSE));
}

gboolean
ow_transcript_diff_can_undo (const OwEvent *ended)
{
  static const char * const tools[] = { "edit", "write", NULL };
  const json_t *structured = json_object_get (ow_event_get_members (ended), "structured");
  const json_t *change = json_object_get (structured, "change");
  const char   *tool = ow_event_get_string (ended, "tool");

  return tool != NULL && g_strv_contains (tools, tool) &&
         g_strcmp0 (ow_event_get_string (ended, "outcome"), "ok") == 0 &&
         json_is_object (change) && ow_json_get_bool (change, "kept", TRUE);
}

static const char *
find_state (const json_t *structured,
            const char   *path)
{
  const json_t *files = json_object_get (structured, "files");

  for (size_t i = 0; i < json_array_size (files); i++)
    {
      const json_t *file = json_array_get (files, i);

      if (g_strcmp0 (ow_json_get_string (file, "path", NULL), path) == 0)
        return ow_json_get_string (file, "state", "");
    }
  return "";
}

gboolean
ow_transcript_diff_is_undone (const OwEvent *asked,
                              const OwEvent *ended,
                              size_t         i)
{
  const json_t *arguments = json_object_get (ow_event_get_members (asked), "arguments");
  const json_t *change = json_array_get (json_object_get (arguments, "changes"), i);
  const char   *path = ow_json_get_string (change, "path", NULL);
  const char   *state;

  if (path == NULL || !ow_json_get_bool (arguments, "apply", FALSE) ||
      g_strcmp0 (ow_event_get_string (ended, "outcome"), "ok") != 0)
    return FALSE;
  state = find_state (json_object_get (ow_event_get_members (ended), "structured"), path);
  return g_str_equal (state, "restored") || g_str_equal (state, "removed");
}

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-session-item-private.h"

#include <glib/gi18n.h>

#include "ow-words-private.h"

#define TITLE_CHARS 120
#define PROBLEM_CHARS 300

struct _OwSessionItem
{
  GObject   parent_instance;

  char     *id;        /* (owned) */
  json_t   *row;       /* (owned) */
  char     *outcome;   /* (owned) (nullable) of an end that the row does not know of */
  char     *problem;   /* (owned) (nullable) why it failed then */
  char     *title;     /* (owned) */
  char     *subtitle;  /* (owned) */
  char     *icon_name; /* (owned) */
  gboolean  working;
};

enum { PROP_TITLE = 1, PROP_SUBTITLE, PROP_ICON_NAME, N_PROPS };

static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (OwSessionItem, ow_session_item, G_TYPE_OBJECT)

static void
ow_session_item_get_property (GObject    *object,
                              guint       id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  OwSessionItem *self = OW_SESSION_ITEM (object);

  switch (id)
    {
    case PROP_TITLE:
      g_value_set_string (value, self->title);
      break;
    case PROP_SUBTITLE:
      g_value_set_string (value, self->subtitle);
      break;
    case PROP_ICON_NAME:
      g_value_set_string (value, self->icon_name);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ow_session_item_finalize (GObject *object)
{
  OwSessionItem *self = OW_SESSION_ITEM (object);

  json_decref (self->row);
  g_free (self->outcome);
  g_free (self->problem);
  g_free (self->id);
  g_free (self->title);
  g_free (self->subtitle);
  g_free (self->icon_name);

  G_OBJECT_CLASS (ow_session_item_parent_class)->finalize (object);
}

static void
ow_session_item_class_init (OwSessionItemClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = ow_session_item_get_property;
  object_class->finalize = ow_session_item_finalize;

  properties[PROP_TITLE] = g_param_spec_string ("title", NULL, NULL, NULL, flags);
  properties[PROP_SUBTITLE] = g_param_spec_string ("subtitle", NULL, NULL, NULL, flags);
  properties[PROP_ICON_NAME] = g_param_spec_string ("icon-name", NULL, NULL, NULL, flags);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
ow_session_item_init (OwSessionItem *self)
{
}

/* Takes @text. */
static void
set (OwSessionItem  *self,
     char          **member,
     char           *text,
     guint           property)
{
  g_autofree char *taken = text;

  if (g_strcmp0 (*member, taken) == 0)
    return;
  g_free (*member);
  *member = g_steal_pointer (&taken);
  g_object_notify_by_pspec (G_OBJECT (self), properties[property]);
}

static const char *
icon_of (const char *state,
         gboolean    working,
         gboolean    waiting)
{
  if (waiting)
    return "dialog-question-symbolic";
  if (working)
    return "media-playback-start-symbolic";
  if (g_strcmp0 (state, "failed") == 0 || g_strcmp0 (state, "refused") == 0)
    return "dialog-warning-symbolic";
  if (g_strcmp0 (state, "interrupted") == 0 || g_strcmp0 (state, "parked") == 0)
    return "media-playback-pause-symbolic";
  return "object-select-symbolic";
}

/* Takes @state. */
static char *
add_problem (const char *problem,
             char       *state)
{
  g_autofree char *taken = state;
  g_autofree char *line = ow_words_line (problem, PROBLEM_CHARS);

  /* Translators: that a session failed, and why */
  return *line != '\0' ? g_strdup_printf (_ ("%s: %s"), taken, line) : g_steal_pointer (&taken);
}

static void
show (OwSessionItem *self)
{
  const json_t *row = self->row;
  const char *state = ow_json_get_string (row, "state", "");
  const json_t *count = json_object_get (row, "waiting");
  gboolean waiting = json_is_true (count) || json_integer_value (count) > 0;
  g_autofree char *words = NULL;
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  char *title = ow_words_line (ow_json_get_string (row, "title", ""), TITLE_CHARS);

  self->working = ow_json_get_bool (row, "working", g_strcmp0 (state, "running") == 0);
  if (self->outcome != NULL)
    {
      state = self->outcome;
      self->working = FALSE;
      waiting = FALSE;
    }
  if (*title == '\0')
    {
      g_free (title);
      title = g_strdup (_ ("Session without a title"));
    }
  set (self, &self->title, title, PROP_TITLE);
  words = ow_words_state (state, ow_json_get_string (row, "level", NULL), self->working, waiting,
                          ow_json_get_string (row, "started", NULL), now);
  if (self->problem != NULL)
    words = add_problem (self->problem, words);
  set (self, &self->subtitle, g_steal_pointer (&words), PROP_SUBTITLE);
  set (self, &self->icon_name, g_strdup (icon_of (state, self->working, waiting)),
       PROP_ICON_NAME);
}

void
ow_session_item_update (OwSessionItem *self,
                        const json_t  *row)
{
  json_decref (self->row);
  self->row = json_deep_copy (row);
  show (self);
}

void
ow_session_item_set_end (OwSessionItem *self,
                         const char    *outcome,
                         const char    *message)
{
  gboolean failed = g_strcmp0 (outcome, "failed") == 0 || g_strcmp0 (outcome, "refused") == 0;

  ow_words_set (&self->outcome, outcome);
  ow_words_set (&self->problem, failed ? message : NULL);
  show (self);
}

OwSessionItem *
ow_session_item_new (const json_t *row)
{
  OwSessionItem *self = g_object_new (OW_TYPE_SESSION_ITEM, NULL);

  self->id = g_strdup (ow_json_get_string (row, "session", ""));
  ow_session_item_update (self, row);
  return self;
}

const char *
ow_session_item_get_id (OwSessionItem *self)
{
  return self->id;
}

const char *
ow_session_item_get_title (OwSessionItem *self)
{
  return self->title;
}

const char *
ow_session_item_get_subtitle (OwSessionItem *self)
{
  return self->subtitle;
}

gboolean
ow_session_item_is_working (OwSessionItem *self)
{
  return self->working;
}

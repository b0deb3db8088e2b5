/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

#include "engine/ow-shared-engine.h"
#include "ow-composer-private.h"
#include "ow-level-button-private.h"
#include "ow-session-feed-private.h"
#include "ow-session-list-private.h"
#include "ow-transcript-view-private.h"

/* The one window: the sessions on the left, one of them on the right. It waits for nothing: it is
 * there before the engine is, and each answer changes it when it comes.
 *
 * Main thread. */

#define OW_TYPE_WINDOW (ow_window_get_type ())
G_DECLARE_FINAL_TYPE (OwWindow, ow_window, OW, WINDOW, AdwApplicationWindow)

struct _OwWindow
{
  AdwApplicationWindow  parent_instance;

  OwSharedEngine       *engine;       /* (owned) */
  OwSessionList        *list;         /* (owned) */
  GtkSingleSelection   *selection;    /* (owned) */
  OwSessionFeed        *feed;         /* (owned) (nullable) the session on the right */
  GCancellable         *cancellable;  /* (owned) of commands that only this window needs */
  char                 *wanted;       /* (owned) (nullable) a session to select when it is listed */
  char                 *engine_error; /* (owned) (nullable) */
  char                 *key_problem;  /* (owned) (nullable) */
  gboolean              greeted;      /* the engine that there is now */

  AdwToastOverlay      *toasts;
  AdwLeaflet           *leaflet;
  GtkWidget            *sidebar;
  GtkWidget            *content;
  GtkListView          *sessions;
  AdwWindowTitle       *heading;
  OwLevelButton        *level;
  GtkMenuButton        *session_menu_button;
  GtkInfoBar           *bar;
  GtkLabel             *bar_label;
  GtkWidget            *retry;
  GtkStack             *stack;
  AdwStatusPage        *empty;
  GtkWidget            *empty_button;
  OwTranscriptView     *view;
  OwComposer           *composer;
};

OwWindow *ow_window_new             (AdwApplication *application, OwSharedEngine *engine);
/* The engine was opened, or (@error) could not be. */
void      ow_window_engine_opened   (OwWindow *self, const GError *error);
/* Shows @session now, and its row as soon as the list has it. */
void      ow_window_show_session    (OwWindow *self, const char *session);
/* A thing that happened, in a few words; plain text. */
void      ow_window_toast           (OwWindow *self, const char *text);
/* Asks each session at work to stop; done when all have been asked. */
void      ow_window_stop_all_async  (OwWindow *self, GAsyncReadyCallback callback,
                                     gpointer user_data);

/* ow-window-actions.c */
void      ow_window_install_actions (GtkWidgetClass *widget_class);
void      ow_window_update_actions  (OwWindow *self);
/* ow-window-changes.c: what a session changed, and taking it back. */
void      ow_window_install_changes (GtkWidgetClass *widget_class);
/* ow-window-bar.c: the state that lasts, under the header. */
void      ow_window_update_bar      (OwWindow *self);
void      ow_window_check_keys      (OwWindow *self);

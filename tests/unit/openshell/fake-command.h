/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "openshell/ow-openshell.h"

/* A folder with an `openshell` that is a shell script of the test's own. */
typedef struct {
  char        *folder;     /* (owned) */
  char        *program;    /* (owned) */
  OwOpenshell *openshell;  /* (owned) */
} FakeCommand;

/* @script is what follows "#!/bin/sh"; in it $FOLDER is the folder. */
FakeCommand *fake_command_new  (const char *script);
void         fake_command_free (FakeCommand *fake);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeCommand, fake_command_free)
void         fake_command_change (FakeCommand *fake, const char *script);
/* The content of a file that the script wrote into the folder, "" without one. */
char        *fake_command_read (FakeCommand *fake, const char *name);
void         fake_command_write (FakeCommand *fake, const char *name, const char *text);

/* Turns the loop until @result is there. As a callback: user_data is a GAsyncResult **. */
void         fake_command_keep (GObject *object, GAsyncResult *result, gpointer user_data);
void         fake_command_wait (GAsyncResult **result);
/* ms, longer where the suite is told that the machine is slow. */
guint        fake_command_scaled (guint ms);

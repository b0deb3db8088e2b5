/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

/* A session bus of the test's own, with gnome-keyring or a Secret Service that is not what
 * it should be. Everything ends with the fixture, or with the test's process. */

typedef enum {
  FAKE_SILENT,       /* takes calls and answers none */
  FAKE_WRONG_TYPES,  /* answers each with a number */
  FAKE_ERRORS,       /* refuses each */
  FAKE_PROMPTS,      /* wants a password typed for whatever it is asked */
  FAKE_LOCKED,       /* has the item, and it is locked */
  FAKE_SECRET,       /* has the item, and its secret is @fake_secret */
} FakeKind;

typedef struct {
  char            *dir;          /* (owned) home and runtime directory */
  char            *address;      /* (owned) of the bus */
  GSubprocess     *bus;          /* (owned) (nullable) */
  GSubprocess     *keyring;      /* (owned) (nullable) */
  GDBusConnection *fake;         /* (owned) (nullable) */
  FakeKind         fake_kind;
  GBytes          *fake_secret;  /* (owned) (nullable) */
  int              asked;        /* times the fake was asked to unlock or to show a prompt */
  int              calls;        /* times it was asked anything */
} Keyring;

void     keyring_set_up     (Keyring       *self,
                             gconstpointer  data);
void     keyring_tear_down  (Keyring       *self,
                             gconstpointer  data);

/* gnome-keyring with the password "pw"; @unlocked or as a log-in without password leaves it. */
void     keyring_start      (Keyring       *self,
                             gboolean       unlocked);
void     keyring_end        (Keyring       *self);
void     keyring_signal     (Keyring       *self,
                             int            signal);
/* Locks the default collection. */
void     keyring_lock       (Keyring       *self);

void     keyring_fake       (Keyring       *self,
                             FakeKind       kind,
                             GBytes        *secret);

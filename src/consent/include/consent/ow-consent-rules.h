/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <gio/gio.h>

#include "events/ow-level.h"
#include "wire/ow-json.h"

/* What a person allowed for always: exact simple commands, each for one folder and one
 * level, in a file of the program's own (0600, replaced atomically). Final GObject, the thread of
 * the engine. The file is read anew at each use, so that a rule taken out of it counts no more. A
 * file that cannot be read or understood, or that others can write, allows nothing, is said once
 * and is not written over. */

#define OW_TYPE_CONSENT_RULES (ow_consent_rules_get_type ())
G_DECLARE_FINAL_TYPE (OwConsentRules, ow_consent_rules, OW, CONSENT_RULES, GObject)

/* @path need not be there. @error tells of a file that is there and cannot be used; the rules are
 * returned all the same, empty and not to be added to. */
OwConsentRules *ow_consent_rules_open     (const char *path, GError **error);
/* @place: the folder work starts in. @words: as ow_simple_command_parse() gives them. */
gboolean        ow_consent_rules_contains (OwConsentRules *self, OwLevel level,
                                           const char *place, const char * const *words);
gboolean        ow_consent_rules_add      (OwConsentRules *self, OwLevel level,
                                           const char *place, const char * const *words,
                                           GError **error);

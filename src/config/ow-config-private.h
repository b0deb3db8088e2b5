/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include "config/ow-model-settings.h"
#include "ow-config-toml-private.h"

G_BEGIN_DECLS

#define OW_CONFIG_MAX_BYTES  (1024 * 1024)
#define OW_CONFIG_MAX_MODELS 256
#define OW_CONFIG_PROGRAMS   "sandbox_programs"
#define OW_CONFIG_NEXT       "Mend the file: until then sessions on this machine are refused."

struct _OwConfig
{
  GObject parent_instance;

  OwProviderKind    provider;
  OwNetworkProfile  profile;
  GPtrArray        *extra_hosts;  /* (owned) of OwHost */
  GPtrArray        *credentials;  /* (owned) of OwConfigCredential */
  GPtrArray        *models;       /* (owned) of OwModelSettings */
  GPtrArray        *programs;     /* (owned) of char: whole paths */
  gboolean          any_version;  /* of OpenShell */
  char             *cpu;          /* (owned) (nullable) */
  char             *memory;       /* (owned) (nullable) */
};

/* What is read from the file's bytes; @path is for the sentences. NULL: they are what a person
 * typed, and what is wrong with them is OW_ERROR_USAGE. */
OwConfig *ow_config_parse       (const char    *path,
                                 GBytes        *content,
                                 GError       **error);

/* The sentence for a fault in the file. Always FALSE. */
gboolean  ow_config_fail        (const char    *path,
                                 guint          line,
                                 const char    *why,
                                 GError       **error);

gboolean  ow_config_models_read (OwConfig      *self,
                                 OwConfigToml  *toml,
                                 const char    *path,
                                 GError       **error);

gboolean  ow_config_programs_read (OwConfig      *self,
                                   OwConfigToml  *toml,
                                   const char    *path,
                                   GError       **error);
/* The place of the folder, a whole path, in the list; -1: it is not there. */
int       ow_config_programs_find (OwConfig      *self,
                                   const char    *folder);
/* How the folder is written in the file. (transfer full) */
char     *ow_config_programs_write (const char   *folder);

gboolean  ow_config_openshell_read (OwConfig      *self,
                                    OwConfigToml  *toml,
                                    const char    *path,
                                    GError       **error);

G_END_DECLS

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <glib.h>

#include "config/ow-config.h"
#include "consent/ow-consent.h"
#include "wire/ow-json.h"

/* What a face asks for when it starts a session, checked. Strings are owned, so that
 * the parameters may go before the session does. */
typedef struct
{
  char           **folders;
  OwProviderKind   provider; /* UNSET: the machine's setting decides */
  OwApprovePolicy  approve;
  char            *model;    /* (nullable) the machine's default */
  char            *base_url; /* (nullable) */
  char            *record;   /* (nullable) */
  char            *task;     /* (nullable) session.start */
  char           **argv;     /* (nullable) session.exec */
  gboolean         interactive;
  gboolean         keep;
} OwEngineParams;

/* What any command's parameters have to pass first: an object of members that are @known,
 * NULL-terminated, and of their type. What fails is a usage error. */
gboolean        ow_engine_params_check         (const json_t        *params,
                                                const char * const  *known,
                                                GError             **error);

/* @exec: the parameters of session.exec, else of session.start, which have passed
 * ow_engine_params_check(). Missing members and wrong words are usage errors. */
OwEngineParams *ow_engine_params_new           (const json_t    *params,
                                                gboolean         exec,
                                                GError         **error);
void            ow_engine_params_free          (OwEngineParams  *params);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OwEngineParams, ow_engine_params_free)

/* The string member @key, or NULL with a usage error. Borrowed from @params. */
const char     *ow_engine_params_need          (const json_t    *params,
                                                const char      *key,
                                                GError         **error);

/* @folders: (out) NULL where the list @key is not there or empty. */
gboolean        ow_engine_params_read_folders  (const json_t    *params,
                                                const char      *key,
                                                char          ***folders,
                                                GError         **error);
/* 1 to 4096 texts. */
gboolean        ow_engine_params_read_words    (const json_t    *params,
                                                const char      *key,
                                                char          ***words,
                                                GError         **error);
/* @kind: OW_PROVIDER_UNSET when none is named. */
gboolean        ow_engine_params_read_provider (const json_t    *params,
                                                OwProviderKind  *kind,
                                                GError         **error);

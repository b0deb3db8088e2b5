/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-file.h"
#include "ow-http-private.h"

/* All authorities of a system are some 250 KB. */
#define CA_FILE_MAX_BYTES (4 * 1024 * 1024)
#define NEXT_PROXY "Give one such as http://proxy.example.org:3128"

/* OwHttp:
 *
 * What all exchanges with one server share: whom to believe and which way to go. It keeps
 * nothing of what was exchanged. */
struct _OwHttp {
  GObject parent_instance;

  OwHttpSettings settings;
};

G_DEFINE_FINAL_TYPE (OwHttp, ow_http, G_TYPE_OBJECT)

static void
ow_http_finalize (GObject *object)
{
  OwHttp *self = OW_HTTP (object);

  g_clear_object (&self->settings.authorities);
  g_clear_object (&self->settings.proxy);
  G_OBJECT_CLASS (ow_http_parent_class)->finalize (object);
}

static void
ow_http_class_init (OwHttpClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ow_http_finalize;
}

static void
ow_http_init (OwHttp *self)
{
}

static void
free_certificates (GList *certificates)
{
  g_list_free_full (certificates, g_object_unref);
}

/* A file without a certificate would be a list of nobody, and every server refused for a reason
 * that nobody finds. */
static GTlsDatabase *
load_authorities (const char  *ca_file,
                  GError     **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree char *path = g_canonicalize_filename (ca_file, NULL);
  g_autoptr (GBytes) content = ow_file_read (path, CA_FILE_MAX_BYTES, &cause);
  GTlsDatabase *authorities = NULL;
  GList *certificates = NULL;

  if (content != NULL)
    {
      certificates = g_tls_certificate_list_new_from_file (path, &cause);
      if (certificates != NULL)
        authorities = G_TLS_DATABASE (g_tls_file_database_new (path, &cause));
      free_certificates (certificates);
    }
  if (authorities == NULL)
    {
      g_autofree char *what = g_strdup_printf ("The CA file %s cannot be used", ca_file);

      ow_error_set (error, OW_ERROR_USAGE, what,
                    cause != NULL ? cause->message : "it holds no certificate",
                    "Give a file of certificates in PEM, or none for the system's");
    }
  return authorities;
}

static GProxyResolver *
make_proxy (const char  *proxy,
            GError     **error)
{
  g_autoptr (GUri) uri = NULL;
  g_autofree char *http = NULL;

  if (g_ascii_strncasecmp (proxy, "http://", 7) == 0)
    http = g_strdup (proxy);
  else if (g_ascii_strncasecmp (proxy, "socks5://", 9) == 0)
    http = g_strconcat ("http://", proxy + 9, NULL);
  else
    {
      ow_error_set (error, OW_ERROR_USAGE, "The proxy cannot be used",
                    "its address begins with neither http:// nor socks5://", NEXT_PROXY);
      return NULL;
    }

  uri = ow_http_request_parse_url (http, NULL);
  if (uri == NULL || strchr (proxy, '@') != NULL)
    {
      ow_error_set (error, OW_ERROR_USAGE, "The proxy cannot be used",
                    "its address makes no sense or names a user", NEXT_PROXY);
      return NULL;
    }
  return g_simple_proxy_resolver_new (proxy, NULL);
}

OwHttp *
ow_http_new (const char  *ca_file,
             const char  *proxy,
             GError     **error)
{
  g_autoptr (OwHttp) self = g_object_new (OW_TYPE_HTTP, NULL);

  self->settings.system_proxy = proxy == NULL;
  if (ca_file != NULL)
    {
      self->settings.authorities = load_authorities (ca_file, error);
      if (self->settings.authorities == NULL)
        return NULL;
    }
  if (proxy != NULL && *proxy != '\0')
    {
      self->settings.proxy = make_proxy (proxy, error);
      if (self->settings.proxy == NULL)
        return NULL;
    }
  return g_steal_pointer (&self);
}

void
ow_http_send_async (OwHttp              *self,
                    const OwHttpRequest *request,
                    OwHttpHeadFunc       head,
                    OwHttpDataFunc       data,
                    gpointer             data_user,
                    GCancellable        *cancellable,
                    GAsyncReadyCallback  callback,
                    gpointer             user_data)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (GUri) uri = NULL;
  GError *error = NULL;

  g_task_set_source_tag (task, ow_http_send_async);
  /* A stop is told in the program's own words. */
  g_task_set_check_cancellable (task, FALSE);
  uri = ow_http_request_parse_url (request->url, &error);
  if (uri == NULL || !ow_http_request_check (request, &error))
    {
      g_task_return_error (task, error);
      return;
    }
  if (g_cancellable_is_cancelled (cancellable))
    {
      ow_error_set (&error, OW_ERROR_INTERRUPTED, "The request was stopped before it was sent",
                    NULL, NULL);
      g_task_return_error (task, error);
      return;
    }
  ow_http_exchange_start (task, &self->settings, uri, request, head, data, data_user);
}

OwHttpAnswer *
ow_http_send_finish (OwHttp        *self,
                     GAsyncResult  *result,
                     GError       **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

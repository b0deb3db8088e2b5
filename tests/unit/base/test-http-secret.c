/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "base/ow-http.h"

#include <malloc.h>
#include <string.h>

#include "base/ow-error.h"
#include "http-server.h"

#define KEY_BYTES 64
#define VALUE     "Bearer "
#define LINE      "Authorization: Bearer "

#if defined(__has_feature)
#if __has_feature (address_sanitizer)
#define UNDER_ASAN
#endif
#endif

static char key[KEY_BYTES + 1];
static gint watching;
static gint freed_with_key;

/* Whether a block that is given back still holds the key by itself. As part of the whole line it
 * stands in buffers of libsoup's, which are out of reach. No allocation in here. */
static void
look_at (const char *block,
         gsize       size)
{
  if (block == NULL || !g_atomic_int_get (&watching))
    return;

  for (const char *found = memmem (block, size, key, KEY_BYTES); found != NULL;
       found = memmem (found + 1, size - (gsize) (found + 1 - block), key, KEY_BYTES))
    {
      gsize before = strlen (LINE);

      if ((gsize) (found - block) < before || memcmp (found - before, LINE, before) != 0)
        g_atomic_int_inc (&freed_with_key);
    }
}

#ifdef UNDER_ASAN
int __sanitizer_install_malloc_and_free_hooks (void (*on_malloc)(const volatile void *, size_t),
                                               void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size (const volatile void *block);

static void
on_malloc (const volatile void *block,
           size_t               size)
{
}

static void
on_free (const volatile void *block)
{
  look_at ((const char *) block, block != NULL ? __sanitizer_get_allocated_size (block) : 0);
}

static void
watch_frees (void)
{
  __sanitizer_install_malloc_and_free_hooks (on_malloc, on_free);
}

#else
void __libc_free (void *block);

/* In front of the library's own, for every library. */
void
free (void *block)
{
  look_at (block, block != NULL ? malloc_usable_size (block) : 0);
  __libc_free (block);
}

static void
watch_frees (void)
{
  /* A block that is taken anew must not show what another one held. */
  mallopt (M_PERTURB, 0x55);
}

#endif

static void
send_to (const char *url,
         gboolean    in_thread)
{
  char value[sizeof VALUE + KEY_BYTES];
  g_autoptr (Trial) trial = trial_new ();
  OwHttpRequest request = {
    .method = "POST", .url = url, .secret_name = "Authorization", .secret_value = value,
    .first_byte_ms = 200,
  };

  g_snprintf (value, sizeof value, VALUE "%s", key);
  trial_run (trial, &request, in_thread);
  explicit_bzero (value, sizeof value);
}

/* What is given back to the allocator can be read out of it later. */
static void
test_wiped (gboolean in_thread)
{
  const char *const answers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 401 No\r\n\r\nno", "", "garbage\r\n\r\n",
    "HTTP/1.1 302 Away\r\nLocation: /\r\n\r\n", "HTTP/1.1 421 No\r\n\r\n",
  };
  g_autoptr (Server) silent = server_new (serve_text_and_stay, "");
  g_autofree char *silent_url = server_make_url (silent, "/");

  g_atomic_int_set (&watching, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (Server) server = server_new (serve_text, answers[i]);
      g_autofree char *url = server_make_url (server, "/");

      send_to (url, in_thread);
    }
  send_to (silent_url, in_thread);
  /* Where nobody listens the headers are never written, but were there. */
  send_to ("http://127.0.0.1:1/", in_thread);
  send_to ("no address", in_thread);
  g_atomic_int_set (&watching, FALSE);
  g_assert_cmpint (g_atomic_int_get (&freed_with_key), ==, 0);
}

/* It sees what is not wiped. */
static void
test_control (void)
{
  g_atomic_int_set (&watching, TRUE);
  g_free (g_strdup (key));
  g_free (g_strconcat (VALUE, key, NULL));
  g_free (g_strconcat (LINE, key, NULL));
  g_atomic_int_set (&watching, FALSE);
  g_assert_cmpint (g_atomic_int_get (&freed_with_key), ==, 2);
  g_atomic_int_set (&freed_with_key, 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < KEY_BYTES; i++)
    key[i] = (char) g_test_rand_int_range ('a', 'z' + 1);
  watch_frees ();
  g_test_add_func ("/http/S22/control", test_control);
  trial_add ("/http/S22/wiped", test_wiped);
  return g_test_run ();
}

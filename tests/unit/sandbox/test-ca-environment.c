/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-ca-environment-private.h"

static void
test_shown (void)
{
  const char * const environment[] = {
    "HOME=/home/nina",
    "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
    "SSL_CERT_DIR=/etc/ssl/certs",
    "NODE_EXTRA_CA_CERTS=/usr/local/share/ca-certificates/company.crt",
    "PIP_CERT=/etc/pki/tls/certs/ca-bundle.crt",
    NULL,
  };
  const char *expected[] = {
    "SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt",
    "SSL_CERT_DIR", "/etc/ssl/certs",
    "PIP_CERT", "/etc/pki/tls/certs/ca-bundle.crt",
    "NODE_EXTRA_CA_CERTS", "/usr/local/share/ca-certificates/company.crt",
    NULL,
  };
  g_auto (GStrv) picked = ow_ca_environment_pick (environment);

  g_assert_true (g_strv_equal ((const char * const *) picked, expected));
}

/* What is not shown inside, leads elsewhere, is no plain path or is another variable. */
static void
test_kept_out (void)
{
  const char * const environment[] = {
    "SSL_CERT_FILE=/home/nina/ca.pem",
    "SSL_CERT_DIR=/etc/ssl/private",
    "CURL_CA_BUNDLE=/etc/ssl/certs/../private/key.pem",
    "REQUESTS_CA_BUNDLE=/etc/ssl/certsecret",
    "PIP_CERT=etc/ssl/certs/ca.pem",
    "NODE_EXTRA_CA_CERTS=",
    "GIT_SSL_CAINFO=/etc/ssl/certs/a\nb",
    "AWS_CA_BUNDLE=/etc/ssl/certs/$(token)",
    "GIT_SSL_KEY=/etc/ssl/certs/key.pem",
    "TOKEN=/etc/ssl/certs/ca-certificates.crt",
    "SSL_CERT_FILE_OLD=/etc/ssl/certs/ca-certificates.crt",
    NULL,
  };
  const char * const none[] = { NULL };
  g_auto (GStrv) picked = ow_ca_environment_pick (environment);
  g_auto (GStrv) nothing = ow_ca_environment_pick (none);

  g_assert_cmpuint (g_strv_length (picked), ==, 0);
  g_assert_cmpuint (g_strv_length (nothing), ==, 0);
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ca-environment/shown", test_shown);
  g_test_add_func ("/ca-environment/kept-out", test_kept_out);
  return g_test_run ();
}

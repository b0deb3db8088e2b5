/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <string.h>

#include "base/ow-error.h"
#include "base/ow-file.h"
#include "fake-command.h"

static OwOpenshellStatus *
ask (FakeCommand *fake,
     GError     **error)
{
  g_autoptr (GAsyncResult) result = NULL;

  ow_openshell_status_async (fake->openshell, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_status_finish (fake->openshell, result, error);
}

/* What the command prints for `status -o json`, and its exit status, which must not count. */
static OwOpenshellStatus *
ask_json (const char *json,
          int         exit_status,
          GError    **error)
{
  g_autofree char *script = g_strdup_printf ("[ \"$*\" = 'status -o json' ] || exit 9\n"
                                             "cat \"$FOLDER/answer\"; exit %d", exit_status);
  g_autoptr (FakeCommand) fake = fake_command_new (script);

  fake_command_write (fake, "answer", json);
  return ask (fake, error);
}

#define expect_fault(json, fault)                                                       \
  G_STMT_START {                                                                        \
    for (int exit_status = 0; exit_status < 2; exit_status++)                           \
      {                                                                                 \
        g_autoptr (GError) got = NULL;                                                  \
        g_assert_null (ask_json (json, exit_status, &got));                             \
        g_assert_error (got, OW_OPENSHELL_ERROR, fault);                                \
      }                                                                                 \
  } G_STMT_END

static void
test_C01 (void)
{
  static const char * const ready[] = { "authenticated", "not_required" };

  for (gsize i = 0; i < G_N_ELEMENTS (ready); i++)
    {
      g_autofree char *json = g_strdup_printf (
        "{\"authentication\":{\"mode\":\"gateway\",\"status\":\"%s\"},\"gateway\":\"dev\","
        "\"server\":\"https://127.0.0.1:17670\",\"status\":\"connected\","
        "\"version\":\"0.0.116\"}\n", ready[i]);
      g_autoptr (GError) error = NULL;
      /* Also where the command says that it failed. */
      g_autoptr (OwOpenshellStatus) status = ask_json (json, (int) i, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (status->gateway, ==, "dev");
      g_assert_cmpstr (status->server, ==, "https://127.0.0.1:17670");
      g_assert_cmpstr (status->version, ==, "0.0.116");
      g_assert_cmpstr (status->authentication, ==, ready[i]);
    }
}

static void
test_C02 (void)
{
  expect_fault ("{\"status\":\"connected_http\",\"http_status\":\"200 OK\","
                "\"error\":\"status: Unknown\",\"authentication\":{\"status\":\"authenticated\"}}",
                OW_OPENSHELL_FAULT_NOT_GATEWAY);
}

static void
test_C03 (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (ask_json ("{\"status\":\"disconnected\",\"authentication\":{\"status\":"
                           "\"not_required\"},\"error\":\"\\u001b[31m<b>no\\u0007 way</b>\"}", 0,
                           &error));
  g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_GATEWAY_DOWN);
  g_assert_nonnull (strstr (error->message, "<b>no^G way</b>"));
  g_assert_null (strchr (error->message, 0x1b));
  g_assert_null (strchr (error->message, 0x07));

  expect_fault ("{\"status\":\"error\",\"authentication\":{\"status\":\"authenticated\"}}",
                OW_OPENSHELL_FAULT_GATEWAY_DOWN);
  expect_fault ("{\"status\":\"disconnected\",\"authentication\":{\"status\":\"failed\"},"
                "\"error\":\"transport error: invalid peer certificate: BadSignature\"}",
                OW_OPENSHELL_FAULT_CERTIFICATE);
}

static void
test_C04 (void)
{
  expect_fault ("{\n  \"status\": \"not_configured\"\n}\n", OW_OPENSHELL_FAULT_NOT_REGISTERED);
}

/* Connected, but not for us. */
static void
test_authentication (void)
{
  static const char * const wrong[] = {
    "{\"status\":\"failed\",\"error\":\"x\"}", "{\"status\":\"unverified\"}", "{\"status\":\"\"}",
    "{\"status\":\"Authenticated\"}", "{\"status\":\"authenticated \"}", "{}", "null", "[]",
    "{\"status\":true}", "\"authenticated\"",
    "{\"status\":\"authenticated\",\"provider\":\"mTLS transport; authorization denied\"}",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *json = g_strdup_printf ("{\"status\":\"connected\",\"authentication\":%s}",
                                               wrong[i]);

      expect_fault (json, OW_OPENSHELL_FAULT_NOT_AUTHENTICATED);
    }
  expect_fault ("{\"status\":\"connected\"}", OW_OPENSHELL_FAULT_NOT_AUTHENTICATED);
}

/* Answers that no release gives are not read as anything. */
static void
test_hostile (void)
{
  g_autofree char *deep = g_strnfill (100000, '[');
  g_autofree char *huge = g_strnfill (3 * 1024 * 1024, ' ');

  expect_fault ("{\"status\":\"connecting\"}", OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault ("{\"status\":\"connected\",\"status\":\"x\"}", OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault ("{\"status\":\"connected\\u0000\",\"authentication\":"
                "{\"status\":\"authenticated\"}}", OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault ("{\"status\":\"connected\",\"authentication\":{\"status\":\"authenticated\"}} {}",
                OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault ("warning: x\n{\"status\":\"connected\"}", OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault ("[]", OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault ("Connected", OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault (deep, OW_OPENSHELL_FAULT_UNREADABLE);
  expect_fault (huge, OW_OPENSHELL_FAULT_UNREADABLE);
}

static void
test_gateway_down (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "printf 'Error:   × client error (Connect)\\n  ├─▶ tcp connect error\\n"
    "  ╰─▶ Connection refused (os error 111)\\n\\n' >&2; exit 1");
  g_autoptr (GError) error = NULL;

  g_assert_null (ask (fake, &error));
  g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_GATEWAY_DOWN);
  g_assert_nonnull (strstr (error->message, "tcp connect error: Connection refused"));
}

#define TEXT_HEAD   "\x1b[1m\x1b[36mServer Status\x1b[39m\x1b[0m\n\n  \x1b[2mGateway:\x1b[0m dev\n"
#define TEXT_SERVER "  \x1b[2mServer:\x1b[0m http://127.0.0.1:18080\n"
#define TEXT_STATE  "  \x1b[2mStatus:\x1b[0m \x1b[32m%s\x1b[39m\n%s  \x1b[2mVersion:\x1b[0m 0.0.90\n"
#define TEXT_STATUS TEXT_HEAD TEXT_SERVER TEXT_STATE
#define TEXT_FREE   "  \x1b[2mAuthentication:\x1b[0m \x1b[32mNot required\x1b[39m (gateway)\n"

static OwOpenshellFault
fault_of_text (const char *words,
               const char *rest)
{
  g_autofree char *text = g_strdup_printf (TEXT_STATUS, words, rest);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwOpenshellStatus) status = ow_openshell_status_from_text (text, &error);

  g_assert_true ((status == NULL) == (error != NULL));
  return error != NULL ? (OwOpenshellFault) error->code : OW_OPENSHELL_FAULT_NONE;
}

static void
test_C05 (void)
{
  g_assert_cmpint (fault_of_text ("Connected", TEXT_FREE), ==, OW_OPENSHELL_FAULT_NONE);
  g_assert_cmpint (fault_of_text ("Connected", "  Authentication: Authenticated (OIDC)\n"), ==,
                   OW_OPENSHELL_FAULT_NONE);
  g_assert_cmpint (fault_of_text ("Connected (HTTP)", TEXT_FREE), ==,
                   OW_OPENSHELL_FAULT_NOT_GATEWAY);
  g_assert_cmpint (fault_of_text ("Disconnected", TEXT_FREE), ==, OW_OPENSHELL_FAULT_GATEWAY_DOWN);
  g_assert_cmpint (fault_of_text ("Error", TEXT_FREE), ==, OW_OPENSHELL_FAULT_GATEWAY_DOWN);
  g_assert_cmpint (fault_of_text ("Not Connected", TEXT_FREE), ==, OW_OPENSHELL_FAULT_UNREADABLE);
  g_assert_cmpint (fault_of_text ("No gateway configured.", ""), ==,
                   OW_OPENSHELL_FAULT_NOT_REGISTERED);
  g_assert_cmpint (fault_of_text ("Connected", ""), ==, OW_OPENSHELL_FAULT_NOT_AUTHENTICATED);
  g_assert_cmpint (fault_of_text ("Connected", "  Authentication: Failed (expired)\n"), ==,
                   OW_OPENSHELL_FAULT_NOT_AUTHENTICATED);
  g_assert_cmpint (fault_of_text ("Connected", "  Authentication: Unverified (x)\n"), ==,
                   OW_OPENSHELL_FAULT_NOT_AUTHENTICATED);
  /* A later line does not overrule the first. */
  g_assert_cmpint (fault_of_text ("Disconnected", TEXT_FREE "  Status: Connected\n"), ==,
                   OW_OPENSHELL_FAULT_GATEWAY_DOWN);
}

/* A release without `-o json` is asked again in its own way. */
static void
test_C05_asked_again (void)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "if [ $# -gt 1 ]; then echo \"error: unexpected argument '-o' found\" >&2; exit 2; fi\n"
    "cat \"$FOLDER/answer\"");
  g_autofree char *text = g_strdup_printf (TEXT_STATUS, "Connected", TEXT_FREE);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwOpenshellStatus) status = NULL;

  fake_command_write (fake, "answer", text);
  status = ask (fake, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (status->gateway, ==, "dev");
  g_assert_cmpstr (status->version, ==, "0.0.90");
  g_assert_cmpstr (status->authentication, ==, "not_required");
}

/* --- the gateway --- */

static OwOpenshellGateway *
ask_gateway (const char *json,
             GError    **error)
{
  g_autoptr (FakeCommand) fake = fake_command_new (
    "[ \"$*\" = 'gateway info -o json' ] || exit 9\ncat \"$FOLDER/answer\"");
  g_autoptr (GAsyncResult) result = NULL;

  fake_command_write (fake, "answer", json);
  ow_openshell_gateway_async (fake->openshell, NULL, fake_command_keep, &result);
  fake_command_wait (&result);
  return ow_openshell_gateway_finish (fake->openshell, result, error);
}

#define GATEWAY "{\"auth\":null,\"compute_drivers\":[{\"capabilities\":{\"driver_name\":\"%s\","  \
                "\"driver_version\":\"5.2\"},\"name\":\"%s\"}],\"gateway\":\"%s\","                \
                "\"server\":\"%s\",\"status\":\"healthy\",\"version\":\"0.0.116\"}\n"

static gboolean
is_remote (const char *driver,
           const char *name,
           const char *server)
{
  g_autofree char *json = g_strdup_printf (GATEWAY, driver, driver, name, server);
  g_autoptr (GError) error = NULL;
  g_autoptr (OwOpenshellGateway) gateway = ask_gateway (json, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (gateway->driver, ==, driver);
  g_assert_cmpstr (gateway->driver_version, ==, "5.2");
  g_assert_cmpstr (gateway->version, ==, "0.0.116");
  return gateway->remote;
}

static void
register_gateway (const char *name,
                  gboolean    remote)
{
  g_autofree char *folder = g_build_filename (g_getenv ("XDG_CONFIG_HOME"), "openshell",
                                              "gateways", name, NULL);
  g_autofree char *path = g_build_filename (folder, "metadata.json", NULL);
  g_autofree char *json = g_strdup_printf ("{\"name\":\"%s\",\"gateway_endpoint\":\"x\","
                                           "\"is_remote\":%s,\"gateway_port\":1}", name,
                                           remote ? "true" : "false");

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, json, -1, NULL));
}

static void
test_remote (void)
{
  g_autofree char *config = g_dir_make_tmp ("ow-openshell-config-XXXXXX", NULL);

  g_setenv ("XDG_CONFIG_HOME", config, TRUE);
  register_gateway ("far", TRUE);
  register_gateway ("near", FALSE);
  /* A tunnel has an address of this machine, and a gateway here may have any. */
  g_assert_true (is_remote ("docker", "far", "https://127.0.0.1:17670"));
  g_assert_false (is_remote ("podman", "near", "https://10.0.0.1:17670"));
  /* Nothing registered under that name: by its address. */
  g_assert_false (is_remote ("docker", "other", "http://127.0.0.1:18080"));
  g_assert_false (is_remote ("docker", "other", "http://localhost:18080"));
  g_assert_false (is_remote ("docker", "other", "http://[::1]:18080"));
  g_assert_true (is_remote ("docker", "other", "https://gateway.example:17670"));
  g_assert_true (is_remote ("docker", "../gateways/near", "https://gateway.example:17670"));
  g_assert_true (is_remote ("docker", "other", "nonsense"));
  g_assert_true (is_remote ("kubernetes", "near", "https://127.0.0.1:17670"));
  g_assert_true (ow_file_remove_tree (config, NULL));
}

static void
test_gateway_unreadable (void)
{
  static const char * const answers[] = { "", "{}", "[]", "{\"compute_drivers\":[]}",
                                          "{\"compute_drivers\":[{\"name\":7}]}", "docker" };

  for (gsize i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (ask_gateway (answers[i], &error));
      g_assert_error (error, OW_OPENSHELL_ERROR, OW_OPENSHELL_FAULT_UNREADABLE);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/openshell/status/C01", test_C01);
  g_test_add_func ("/openshell/status/C02", test_C02);
  g_test_add_func ("/openshell/status/C03", test_C03);
  g_test_add_func ("/openshell/status/C04", test_C04);
  g_test_add_func ("/openshell/status/authentication", test_authentication);
  g_test_add_func ("/openshell/status/hostile", test_hostile);
  g_test_add_func ("/openshell/status/gateway-down", test_gateway_down);
  g_test_add_func ("/openshell/status/C05", test_C05);
  g_test_add_func ("/openshell/status/C05/asked-again", test_C05_asked_again);
  g_test_add_func ("/openshell/gateway/remote", test_remote);
  g_test_add_func ("/openshell/gateway/unreadable", test_gateway_unreadable);
  return g_test_run ();
}

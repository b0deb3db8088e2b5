/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "config.h"

#include <libintl.h>
#include <locale.h>

#include "engine/ow-shared-engine.h"
#include "ow-application-private.h"

int
main (int    argc,
      char **argv)
{
  g_autoptr (OwApplication) application = NULL;

  ow_shared_engine_prepare_process ();
  setlocale (LC_ALL, "");
  bindtextdomain ("openworker", OW_LOCALEDIR);
  bind_textdomain_codeset ("openworker", "UTF-8");
  textdomain ("openworker");
  g_set_application_name ("OpenWorker");

  application = ow_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "sandbox/ow-attach.h"

OwAttach *
ow_attach_copy (const OwAttach *attach)
{
  OwAttach *copy = g_memdup2 (attach, sizeof *attach);

  copy->argv = g_strdupv (attach->argv);
  copy->envp = g_strdupv (attach->envp);
  copy->once_argv = g_strdupv (attach->once_argv);
  return copy;
}

void
ow_attach_free (OwAttach *attach)
{
  if (attach == NULL)
    return;
  g_strfreev (attach->argv);
  g_strfreev (attach->envp);
  g_strfreev (attach->once_argv);
  g_free (attach);
}

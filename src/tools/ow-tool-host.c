/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "tools/ow-tool-host.h"

G_DEFINE_INTERFACE (OwToolHost, ow_tool_host, G_TYPE_OBJECT)

static void
ow_tool_host_default_init (OwToolHostInterface *iface)
{
}

const char *
ow_tool_outcome_to_string (OwToolOutcome outcome)
{
  switch (outcome)
    {
    case OW_OUTCOME_OK:
      return "ok";
    case OW_OUTCOME_FAILED:
      return "failed";
    case OW_OUTCOME_CANCELLED:
      return "cancelled";
    case OW_OUTCOME_INTERRUPTED:
      return "interrupted";
    case OW_OUTCOME_DENIED:
      return "denied";
    default:
      g_return_val_if_reached ("failed");
    }
}

OwToolResult *
ow_tool_result_new (OwToolOutcome outcome,
                    const char   *text)
{
  OwToolResult *result = g_new0 (OwToolResult, 1);

  result->outcome = outcome;
  result->text = g_strdup (text);
  result->exit_status = -1;
  return result;
}

void
ow_tool_result_free (OwToolResult *result)
{
  if (result == NULL)
    return;
  g_free (result->text);
  json_decref (result->structured);
  g_free (result);
}

OwLevel
ow_tool_host_get_level (OwToolHost *self)
{
  g_return_val_if_fail (OW_IS_TOOL_HOST (self), OW_LEVEL_DIRECT);

  return OW_TOOL_HOST_GET_IFACE (self)->get_level (self);
}

void
ow_tool_host_call_async (OwToolHost          *self,
                         const char          *call_id,
                         const char          *tool,
                         const json_t        *arguments,
                         OwToolOutputFunc     output,
                         gpointer             output_data,
                         GCancellable        *cancellable,
                         GAsyncReadyCallback  callback,
                         gpointer             user_data)
{
  g_return_if_fail (OW_IS_TOOL_HOST (self));

  OW_TOOL_HOST_GET_IFACE (self)->call_async (self, call_id, tool, arguments, output, output_data,
                                             cancellable, callback, user_data);
}

OwToolResult *
ow_tool_host_call_finish (OwToolHost    *self,
                          GAsyncResult  *result,
                          GError       **error)
{
  g_return_val_if_fail (OW_IS_TOOL_HOST (self), NULL);

  return OW_TOOL_HOST_GET_IFACE (self)->call_finish (self, result, error);
}

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-account-private.h"

__asm__ (".section .rodata\n"
         ".global ow_account_module_begin\n"
         ".global ow_account_module_end\n"
         "ow_account_module_begin:\n"
         ".incbin \"" OW_ACCOUNT_MODULE "\"\n"
         "ow_account_module_end:\n"
         ".byte 0\n"
         ".previous\n");

extern const char ow_account_module_begin[];
extern const char ow_account_module_end[];

const char *
ow_account_get_module (gsize *length)
{
  *length = (gsize) (ow_account_module_end - ow_account_module_begin);
  return ow_account_module_begin;
}

/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <adwaita.h>

/* The desktop program: one window, one engine that is opened behind it. When it is asked to
 * end while sessions of its own engine run, it stays, without a window, until they are done,
 * unless the person has them stopped. */

#define OW_TYPE_APPLICATION (ow_application_get_type ())
G_DECLARE_FINAL_TYPE (OwApplication, ow_application, OW, APPLICATION, AdwApplication)

OwApplication *ow_application_new         (void);
void           ow_application_open_engine (OwApplication *self);

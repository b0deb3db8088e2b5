/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* Tells the supervisor that started the program how it stands, where it gave a socket for that
 * (NOTIFY_SOCKET, as systemd does): "READY=1", "STOPPING=1". Without one, and where it is not
 * listened to, nothing happens. */
void ow_notify_send (const char *state);

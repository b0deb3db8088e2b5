/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

/* What a provider means to a person, to follow "commands of agents"; NULL: nothing is set. */
const char *ow_provider_words (const char *provider);

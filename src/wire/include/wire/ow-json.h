/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#pragma once

#include <jansson.h>
#include <stddef.h>

/* The one reader and writer of JSON in the program. Everything that parses JSON
 * goes through ow_json_parse(): what it accepts is a single RFC 8259 value and
 * nothing around it but white space.
 *
 * Plain C, no global state, safe from any thread. Values are jansson's and follow
 * jansson's reference counting; "new reference" is the caller's to json_decref(). */

/* Deepest nesting that a value may have. jansson itself stops at 2,048, too deep
 * for the stacks of the threads that walk a value later. */
#define OW_JSON_MAX_DEPTH 64

/* Most values in one text. An empty object costs three bytes to send and about 250
 * to hold, so a cap on the bytes alone would let a frame fill the memory. */
#define OW_JSON_MAX_VALUES 262144

/* Bytes of the error texts that wire functions fill in, terminator included. */
#define OW_WIRE_ERROR_SIZE 160

/* Parses @length bytes at @data as one JSON value. Refused: nesting over
 * OW_JSON_MAX_DEPTH, more than OW_JSON_MAX_VALUES values, duplicate keys, U+0000
 * (escaped or not), integers outside int64, numbers that overflow a double, invalid
 * UTF-8, lone surrogates, a second value, an empty text, a byte-order mark.
 *
 * Returns: (new reference) the value, or NULL with one English sentence in @error. */
json_t *ow_json_parse (const char *data,
                       size_t      length,
                       char        error[OW_WIRE_ERROR_SIZE]);

/* Writes @value on one line, keys in their own order, without a newline inside or
 * at the end.
 *
 * Returns: (owned, free()) the text, or NULL when @value holds something that JSON
 * cannot carry. @length may be NULL. */
char *ow_json_dump (const json_t *value,
                    size_t       *length);

/* The same text for equal values: keys sorted. What hash chains are made over. */
char *ow_json_dump_canonical (const json_t *value,
                              size_t       *length);

/* Bytes that @length bytes of text take as a JSON string, its quotes counted. The text is UTF-8. */
size_t ow_json_string_size  (const char *text,
                             size_t      length);
/* Writes them to @out and returns how many they are: for a text that is too long to be copied more
 * often than it must. */
size_t ow_json_write_string (char       *out,
                             const char *text,
                             size_t      length);

/* Lenient getters: the member @key of @object when it has the right type, else the
 * fallback. The string is borrowed from @object. */
const char *ow_json_get_string (const json_t *object,
                                const char   *key,
                                const char   *fallback);
json_int_t  ow_json_get_int    (const json_t *object,
                                const char   *key,
                                json_int_t    fallback);
int         ow_json_get_bool   (const json_t *object,
                                const char   *key,
                                int           fallback);

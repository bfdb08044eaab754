/* SPDX-FileCopyrightText: The Takt authors
 * SPDX-License-Identifier: BSD-3-Clause */
/* [snippet: train] */
#include <takt.h>

int main(void) {
  takt_open("train", NULL);  /* options: the environment's */
  const takt_key* const step = takt_get_key("Batch", TAKT_ANY);  /* its end makes a row */
  const takt_key* const decode = takt_get_key("decode", TAKT_COMPUTE);
  for (int i = 0; i < 1000; ++i) {
    TAKT_REGION(step) {
      TAKT_REGION(decode) { /* ... */ }
    }
  }
  return takt_close();  /* files and table */
}
/* [end] */

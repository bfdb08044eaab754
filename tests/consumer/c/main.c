/* SPDX-FileCopyrightText: The Takt authors
 * SPDX-License-Identifier: BSD-3-Clause */
#include <takt.h>

#include <string.h>

int main(void) {
  const takt_key* const optimizer = takt_get_key("Optimizer", TAKT_ANY);
  if (takt_open("consumer", NULL) != TAKT_OK) { return 1; }
  for (int step = 0; step < 3; ++step) {
    TAKT_REGION(takt_get_key("Batch", TAKT_ANY)) {
      TAKT_REGION(optimizer) {}
    }
  }
  char* const json = takt_snapshot_json();
  const int found = json != NULL && strstr(json, "\"path\":\"Batch/Optimizer\"") != NULL;
  takt_free(json);
  return takt_close() == TAKT_OK && found ? 0 : 1;
}

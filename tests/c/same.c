/* SPDX-FileCopyrightText: The Takt authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* The run of same.cpp. */
#include <takt.h>

#include <stdlib.h>

static void check(int code) {
  if (code != TAKT_OK) { exit(10 + code); }
}

int main(void) {
  const takt_key* const forward = takt_get_key("Forward", TAKT_ANY);
  const takt_key* const attention = takt_get_key("attention", TAKT_COMPUTE);
  const takt_key* const loss = takt_get_key("loss copy", TAKT_WAIT);
  takt_options* const options = takt_options_new();
  check(takt_options_set(options, "TAKT_WARMUP", "1"));
  check(takt_open("same", options));
  takt_options_free(options);
  check(takt_param_int("layers", 3));
  check(takt_param_real("rate", 0.1));
  check(takt_param("optimizer", "sgd"));
  check(takt_param("item_unit", "tokens"));
  check(takt_tag("data", "none"));
  check(takt_group("stage", 2));
  check(takt_name_thread("trainer"));
  for (int number = 0; number < 2; ++number) {
    TAKT_SCOPE(takt_get_key("Epoch", TAKT_ANY));
    check(takt_step(100 * number));
    for (int step = 0; step < 3; ++step) {
      takt_region batch = takt_begin(takt_get_key("Batch", TAKT_ANY));
      takt_region io = takt_begin(takt_get_key("IO", TAKT_ANY));
      check(takt_bytes(&io, 4096));
      check(takt_end(&io));
      TAKT_REGION(forward) {
        TAKT_SCOPE(attention);
        continue;
      }
      takt_region phase = takt_begin(takt_get_key("Backward", TAKT_ANY));
      check(takt_lap(&phase, takt_get_key("Optimizer", TAKT_ANY)));
      check(takt_end(&phase));
      takt_region copy = takt_begin_every(loss, 2);
      check(takt_end(&copy));
      check(takt_record(takt_get_key("Comm", TAKT_ANY), 1000));
      check(takt_items(&batch, 32));
      check(takt_metric("loss", 1.0 / (step + 1)));
      check(takt_end(&batch));
    }
    takt_set_enabled(0);
    TAKT_REGION(takt_get_key("Validation", TAKT_ANY)) {}
    takt_set_enabled(1);
  }
  check(takt_metric_at("accuracy", 0.5, 7));
  check(takt_close());
  return takt_last_error()[0] == '\0' ? 0 : 1;
}

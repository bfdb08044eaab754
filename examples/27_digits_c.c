/* SPDX-FileCopyrightText: The Takt authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* Trains a network on handwritten digits, in C: 64 pixels, 32 rectified units, 10 classes. */
#include <takt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { IMAGES = 1797, TRAINING = 1437, BATCH = 32, EPOCHS = 30, IN = 64, HIDDEN = 32, OUT = 10 };

static float images[IMAGES][IN];
static int labels[IMAGES];
static float w1[IN + 1][HIDDEN], w2[HIDDEN + 1][OUT]; /* the last row is the bias */
static float g1[IN + 1][HIDDEN], g2[HIDDEN + 1][OUT];
static float hidden[BATCH][HIDDEN], out[BATCH][OUT];

/* Returns a number from -1 to 1. */
static float draw(void) {
  static unsigned long state = 1;
  state = (state * 1103515245UL + 12345UL) % 2147483648UL;
  return (float)state / 1073741824.0F - 1.0F;
}

static int read_digits(void) {
  TAKT_SCOPE(takt_get_key("IO", TAKT_ANY)); /* also ends at the early return */
  FILE* const file = fopen(TAKT_EXAMPLE_DATA_DIR "/digits.csv", "r");
  if (file == NULL) { return 0; }
  int read = 0;
  for (int i = 0; i < IMAGES; ++i) {
    for (int at = 0; at < IN; ++at) {
      read += fscanf(file, "%f,", &images[i][at]);
      images[i][at] /= 16;
    }
    read += fscanf(file, "%d", &labels[i]);
  }
  fclose(file);
  return read == IMAGES * (IN + 1);
}

static void forward(int first, int count) {
  for (int b = 0; b < count; ++b) {
    const float* const image = images[first + b];
    for (int h = 0; h < HIDDEN; ++h) {
      float sum = w1[IN][h];
      for (int at = 0; at < IN; ++at) { sum += image[at] * w1[at][h]; }
      hidden[b][h] = sum > 0 ? sum : 0;
    }
    float total = 0;
    for (int o = 0; o < OUT; ++o) {
      float sum = w2[HIDDEN][o];
      for (int h = 0; h < HIDDEN; ++h) { sum += hidden[b][h] * w2[h][o]; }
      total += out[b][o] = expf(sum);
    }
    for (int o = 0; o < OUT; ++o) { out[b][o] /= total; }
  }
}

/* Adds up the gradients; returns the loss. */
static double backward(int first, int count) {
  double loss = 0;
  for (int b = 0; b < count; ++b) {
    loss -= log(out[b][labels[first + b]]) / count;
    out[b][labels[first + b]] -= 1;
    for (int h = 0; h <= HIDDEN; ++h) {
      float back = 0;
      for (int o = 0; o < OUT; ++o) {
        g2[h][o] += (h == HIDDEN ? 1 : hidden[b][h]) * out[b][o] / (float)count;
        back += h == HIDDEN ? 0 : out[b][o] * w2[h][o];
      }
      if (h == HIDDEN || hidden[b][h] <= 0) { continue; }
      for (int at = 0; at <= IN; ++at) { g1[at][h] += (at == IN ? 1 : images[first + b][at]) * back / (float)count; }
    }
  }
  return loss;
}

static void descend(float* weights, float* gradient, int count) {
  for (int at = 0; at < count; ++at) {
    weights[at] -= 0.3F * gradient[at];
    gradient[at] = 0;
  }
}

static double accuracy(void) {
  int hits = 0;
  for (int i = TRAINING; i < IMAGES; ++i) {
    forward(i, 1);
    int best = 0;
    for (int o = 1; o < OUT; ++o) { best = out[0][o] > out[0][best] ? o : best; }
    hits += best == labels[i];
  }
  return (double)hits / (IMAGES - TRAINING);
}

int main(void) {
  if (takt_open("digits-c", NULL) != TAKT_OK || !read_digits()) { return 1; }
  for (int at = 0; at < IN * HIDDEN; ++at) { (&w1[0][0])[at] = 0.3F * draw(); }
  for (int at = 0; at < HIDDEN * OUT; ++at) { (&w2[0][0])[at] = 0.3F * draw(); }
  takt_param_int("batch", BATCH);

  const takt_key* const epoch_key = takt_get_key("Epoch", TAKT_ANY);
  const takt_key* const batch_key = takt_get_key("Batch", TAKT_ANY); /* its end makes a row */
  const takt_key* const forward_key = takt_get_key("Forward", TAKT_ANY);
  const takt_key* const backward_key = takt_get_key("Backward", TAKT_ANY);
  const takt_key* const descent_key = takt_get_key("descent", TAKT_COMPUTE); /* one of its own */
  for (int epoch = 0; epoch < EPOCHS; ++epoch) {
    TAKT_SCOPE(epoch_key);
    for (int first = 0; first < TRAINING; first += BATCH) {
      const int count = TRAINING - first < BATCH ? TRAINING - first : BATCH;
      takt_region batch = takt_begin(batch_key);
      TAKT_REGION(forward_key) { forward(first, count); }
      takt_region phase = takt_begin(backward_key);
      takt_metric("loss", backward(first, count));
      takt_lap(&phase, descent_key); /* ends Backward */
      descend(&w1[0][0], &g1[0][0], (IN + 1) * HIDDEN);
      descend(&w2[0][0], &g2[0][0], (HIDDEN + 1) * OUT);
      takt_end(&phase);
      takt_items(&batch, count);
      takt_end(&batch);
    }
  }
  double right = 0;
  TAKT_REGION(takt_get_key("Validation", TAKT_ANY)) { right = accuracy(); }
  takt_metric("accuracy", right);
  const int code = takt_close();
  printf("test accuracy %.1f %%\n", 100 * right);
  return code == TAKT_OK && right > 0.87 ? 0 : 1;
}

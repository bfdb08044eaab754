/* SPDX-FileCopyrightText: The Takt authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* Misuse of takt.h: misuse <case>. Each case returns 0 if the calls return what it expects; c_test.py reads the rest. */
#include <takt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

static void expect(int line, int code, int expected) {
  if (code == expected) { return; }
  printf("line %d: %d instead of %d\n", line, code, expected);
  ++failures;
}
#define EXPECT(call, code) expect(__LINE__, call, code)

static void says(int line, const char* part) {
  if (strstr(takt_last_error(), part) != NULL) { return; }
  printf("line %d: \"%s\" does not have \"%s\"\n", line, takt_last_error(), part);
  ++failures;
}
#define SAYS(part) says(__LINE__, part)

static void* end_there(void* region) {
  EXPECT(takt_end(region), TAKT_OK);
  EXPECT(takt_last_error()[0], '\0'); /* another thread's */
  return NULL;
}

static void unbalanced(void) {
  const takt_key* const key = takt_get_key("work", TAKT_COMPUTE);
  takt_region none = {0, 0};
  EXPECT(takt_end(&none), TAKT_MISUSE);
  SAYS("takt_begin()");
  takt_region twice = takt_begin(key);
  takt_region copy = twice;
  takt_region early = twice;
  EXPECT(takt_end(&twice), TAKT_OK);
  EXPECT(takt_end(&twice), TAKT_MISUSE);
  SAYS("\"work\"");
  EXPECT(takt_items(&twice, 1), TAKT_MISUSE);
  EXPECT(takt_items(&early, 1), TAKT_MISUSE);
  EXPECT(takt_end(&copy), TAKT_OK); /* found out later: the place is not used again yet */
  for (int i = 0; i < 100000; ++i) {
    TAKT_REGION(key) {}
  }
  copy = early;
  takt_region open = takt_begin(key);
  EXPECT(takt_end(&early), TAKT_MISUSE); /* another region began at its place */
  EXPECT(takt_lap(&copy, key), TAKT_MISUSE);
  EXPECT(takt_end(&copy), TAKT_OK);
  EXPECT(takt_end(&open), TAKT_OK);
  takt_begin(key); /* never ended */
}

static void elsewhere(void) {
  pthread_t thread;
  takt_region region = takt_begin(takt_get_key("handed over", TAKT_COMPUTE));
  takt_end(NULL);
  pthread_create(&thread, NULL, end_there, &region);
  pthread_join(thread, NULL);
  EXPECT(takt_end(&region), TAKT_MISUSE);
}

static void names(void) {
  char name[32];
  for (int i = 0; i < 1000000; ++i) {
    snprintf(name, sizeof name, "name %d", i);
    const takt_key* const key = takt_get_key(name, TAKT_OTHER);
    TAKT_REGION(key) {}
    EXPECT(takt_metric(name, 1), TAKT_OK);
  }
}

static void nothing(void) {
  EXPECT(takt_end(NULL), TAKT_MISUSE);
  EXPECT(takt_lap(NULL, NULL), TAKT_MISUSE);
  EXPECT(takt_items(NULL, 1), TAKT_MISUSE);
  EXPECT(takt_param("a", NULL), TAKT_MISUSE);
  EXPECT(takt_param(NULL, "b"), TAKT_MISUSE);
  EXPECT(takt_tag(NULL, NULL), TAKT_MISUSE);
  EXPECT(takt_metric(NULL, 1), TAKT_MISUSE);
  EXPECT(takt_name_thread(NULL), TAKT_MISUSE);
  EXPECT(takt_group(NULL, 1), TAKT_MISUSE);
  EXPECT(takt_group("stage", -1), TAKT_MISUSE);
  EXPECT(takt_record(NULL, -1), TAKT_MISUSE);
  EXPECT(takt_options_set(NULL, "TAKT_WARMUP", "1"), TAKT_MISUSE);
  TAKT_REGION(NULL) {} /* counts as Other */
  TAKT_REGION(takt_get_key(NULL, TAKT_COMM)) {}
  TAKT_REGION(takt_get_key("odd", 42)) {}
  takt_region region = takt_begin(takt_get_key("odd", TAKT_ANY));
  EXPECT(takt_bytes(&region, 0), TAKT_MISUSE);
  EXPECT(takt_end(&region), TAKT_OK);
  takt_options* const options = takt_options_new();
  EXPECT(takt_options_set(options, "TAKT_WARMPU", "1"), TAKT_MISUSE);
  SAYS("did you mean TAKT_WARMUP");
  EXPECT(takt_options_set(options, "TAKT_WARMUP", "many"), TAKT_MISUSE);
  SAYS("TAKT_WARMUP=many is not a number");
  takt_options_free(options);
  takt_options_free(NULL);
  takt_free(NULL);
}

static void order(void) {
  EXPECT(takt_open("second", NULL), TAKT_MISUSE);
  SAYS("takt_close()");
  char* const json = takt_snapshot_json();
  EXPECT(json != NULL && strstr(json, "\"takt-summary/") != NULL, 1);
  takt_free(json);
  const pid_t child = fork();
  if (child == 0) { _exit(takt_metric("in the child", 1) == TAKT_OK && takt_last_error()[0] != '\0' ? 0 : 1); }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT(status, 0);
  EXPECT(takt_close(), TAKT_OK);
  EXPECT(takt_close(), TAKT_MISUSE);
  SAYS("takt_open()");
  EXPECT(takt_metric("late", 1), TAKT_MISUSE);
  EXPECT(takt_param("late", "1"), TAKT_MISUSE);
  EXPECT(takt_fail(), TAKT_MISUSE);
  EXPECT(takt_open("again", NULL), TAKT_OK);
  EXPECT(takt_close(), TAKT_OK);
}

static void streams(void) {
  takt_region region = takt_begin_cuda(takt_get_key("on a stream", TAKT_COMPUTE), NULL);
  EXPECT(takt_lap(&region, takt_get_key("Forward", TAKT_ANY)), TAKT_OK);
  EXPECT(takt_end(&region), TAKT_OK);
  region = takt_begin_hip(takt_get_key("on a stream", TAKT_COMPUTE), NULL);
  EXPECT(takt_end(&region), TAKT_OK);
}

static int leave(int how) {
  const takt_key* const key = takt_get_key("left", TAKT_OTHER);
  for (int i = 0; i < 2; ++i) {
    TAKT_SCOPE(key);
    TAKT_REGION(key) {
      if (how == 0) { return 0; }
      if (how == 1) { break; }
      if (how == 2) { goto out; }
    }
  }
out:
  return how;
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  EXPECT(takt_open("misuse", NULL), TAKT_OK);
  if (strcmp(what, "unbalanced") == 0) {
    unbalanced();
  } else if (strcmp(what, "elsewhere") == 0) {
    elsewhere();
  } else if (strcmp(what, "names") == 0) {
    names();
    EXPECT(takt_close(), TAKT_INCOMPLETE); /* metrics were dropped */
    return failures;
  } else if (strcmp(what, "streams") == 0) {
    streams();
  } else if (strcmp(what, "nothing") == 0) {
    nothing();
  } else if (strcmp(what, "order") == 0) {
    order();
    return failures;
  } else if (strcmp(what, "leave") == 0) {
    for (int how = 0; how < 3; ++how) { leave(how); }
  } else if (strcmp(what, "unclosed") == 0) {
    TAKT_REGION(takt_get_key("work", TAKT_COMPUTE)) {}
    return failures;
  }
  EXPECT(takt_close(), TAKT_OK);
  return failures;
}

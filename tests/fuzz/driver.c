/* Runs a fuzz target without libFuzzer: a small mutator of its own, and the same inputs for the same seed.
 *
 * Usage: <program> SECONDS SEED [FOLDER OR FILE]... Each input is run as it is, then changed ones until the time
 * is over. An input that fails is left in the file named by KODEC_FUZZ_CRASH, or `crash`. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 4096, MOST = 4096 };
static struct {
  uint8_t *data;
  size_t size;
} inputs[MOST];
static size_t count;
static uint8_t now[2 * LARGEST];
static size_t now_size;
static uint64_t state;

static uint64_t dice(uint64_t sides) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % sides;
}

static void keep(const uint8_t *data, size_t size) {
  if (count == MOST || size > LARGEST) return;
  inputs[count].data = malloc(size ? size : 1);
  if (inputs[count].data == NULL) exit(3);
  memcpy(inputs[count].data, data, size);
  inputs[count++].size = size;
}

static void load(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) {
    perror(path);
    exit(2);
  }
  if (S_ISDIR(info.st_mode)) {
    struct dirent **names;
    int found = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < found; i++) {
      char child[4096];
      if (names[i]->d_name[0] != '.') {
        snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
        load(child);
      }
      free(names[i]);
    }
    free(names);
    return;
  }
  FILE *file = fopen(path, "rb");
  uint8_t data[LARGEST + 1];
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  keep(data, size);
}

static void change(void) {
  static const uint8_t telling[] = {0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF};
  uint8_t some[16];
  size_t at = now_size ? dice(now_size) : 0, size;
  switch (dice(8)) {
    case 0:
      if (now_size) now[at] ^= (uint8_t)(1 << dice(8));
      break;
    case 1:
      if (now_size) now[at] = (uint8_t)dice(256);
      break;
    case 2:
      if (now_size) now[at] = telling[dice(sizeof telling)];
      break;
    case 3: /* delete */
      size = dice(17);
      if (size > now_size - at) size = now_size - at;
      memmove(now + at, now + at + size, now_size - at - size);
      now_size -= size;
      break;
    case 4: /* insert */
      size = dice(17);
      if (now_size + size > LARGEST) break;
      for (size_t i = 0; i < size; i++) some[i % 16] = (uint8_t)dice(256);
      memmove(now + at + size, now + at, now_size - at);
      for (size_t i = 0; i < size; i++) now[at + i] = some[i % 16];
      now_size += size;
      break;
    case 5: /* say a piece twice, or elsewhere */
      size = dice(65);
      if (size > now_size - at) size = now_size - at;
      if (now_size) memmove(now + dice(now_size - size + 1), now + at, size);
      break;
    case 6: { /* go on with another input */
      if (!count) break;
      size_t other = dice(count), from = inputs[other].size ? dice(inputs[other].size) : 0;
      size = inputs[other].size - from;
      if (at + size > LARGEST) break;
      memcpy(now + at, inputs[other].data + from, size);
      now_size = at + size;
      break;
    }
    case 7: /* the options, which stand in front */
      if (now_size) now[dice(now_size < 25 ? now_size : 25)] = (uint8_t)dice(256);
      break;
  }
}

static void run(void) {
  uint8_t *copy = malloc(now_size ? now_size : 1);
  if (copy == NULL) exit(3);
  memcpy(copy, now, now_size);
  LLVMFuzzerTestOneInput(copy, now_size);
  free(copy);
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*)(void));
#define ON_DEATH(what) __sanitizer_set_death_callback(what)
#else
#define ON_DEATH(what) ((void)0)
#endif

static void save(void) {
  const char *path = getenv("KODEC_FUZZ_CRASH");
  FILE *file = fopen(path != NULL ? path : "crash", "wb");
  if (file == NULL) return;
  fwrite(now, 1, now_size, file);
  fclose(file);
}

static void aborted(int number) {
  save();
  signal(number, SIG_DFL);
  raise(number);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s SECONDS SEED [FOLDER OR FILE]...\n", argv[0]);
    return 2;
  }
  const double seconds = atof(argv[1]);
  state = strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15ULL + 1;
  for (int i = 3; i < argc; i++) load(argv[i]);
  ON_DEATH(save);
  signal(SIGABRT, aborted);
  unsigned long long runs = 0;
  const size_t given = count;
  for (size_t i = 0; i < given; i++, runs++) {
    memcpy(now, inputs[i].data, now_size = inputs[i].size);
    run();
  }
  struct timespec start, here;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (;;) {
    clock_gettime(CLOCK_MONOTONIC, &here);
    if ((double)(here.tv_sec - start.tv_sec) + (double)(here.tv_nsec - start.tv_nsec) / 1e9 >= seconds) break;
    for (int i = 0; i < 100; i++, runs++) {
      now_size = 0;
      if (given) {
        size_t one = dice(given);
        memcpy(now, inputs[one].data, now_size = inputs[one].size);
      }
      for (uint64_t changes = 1 + dice(6); changes; changes--) change();
      run();
    }
  }
  printf("%llu inputs, %zu of them given\n", runs, given);
  return 0;
}

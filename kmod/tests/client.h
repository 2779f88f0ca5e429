/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the module's tester have of each other. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdint.h>

#include "../hostmark_kernel.h"

#define DEVICE	"/dev/hostmark"
#define PRIMES	78498

/* Ends the program unless `is_so`, with the words and errno. */
#define HOLDS(is_so, ...) do {						\
	if (!(is_so))							\
		fails(__FILE__, __LINE__, #is_so, __VA_ARGS__);		\
} while (0)

__attribute__((noreturn, format(printf, 4, 5)))
void fails(const char *file, int line, const char *what, const char *format, ...);

/* One that is well formed and small. */
struct hostmark_request well_formed(uint32_t operation, struct hostmark_batch *batch);
/* Makes the call: 0 or the errno. */
int run(int device, struct hostmark_request *request);
int opened(void);
uint64_t now_ns(void);
int is_file(uint32_t operation);
int is_random(uint32_t operation);
/* A file of `bytes` bytes, each 0x11, and the descriptor of it. */
int file_of(const char *path, long bytes, int flags);

void uses(const char *folder);
void malformed(const char *folder, uint64_t count, uint64_t seed);
void killed(const char *folder, int count);
void loads(const char *module, int idle, int busy);
void refused(void);

#endif

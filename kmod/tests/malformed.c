// SPDX-License-Identifier: GPL-2.0
/* Malformed requests: what is refused, with which error, and that all is well after. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

/* A descriptor, and what a read from it and a write to it must come to. */
struct kind {
	const char *name;
	int file, read, write;
};

static struct kind kinds[16];
static int count_of_kinds;
/* Two pages that may be written, then one that may only be read, then none. */
static unsigned char *ground;

#define PAGE		4096UL
#define WRITABLE	(2 * PAGE)

static uint64_t state;

static uint64_t any(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void kind(const char *name, int file, int read, int write)
{
	HOLDS(file >= 0, "%s", name);
	kinds[count_of_kinds++] = (struct kind){ name, file, read, write };
}

static void open_kinds(const char *folder)
{
	char path[256], brief[256];
	int pair[2];

	snprintf(path, sizeof(path), "%s/kinds", folder);
	snprintf(brief, sizeof(brief), "%s/short", folder);
	kind("for both", file_of(path, 8192, O_RDWR), 0, 0);
	kind("for reading", open(path, O_RDONLY), 0, EBADF);
	kind("for writing", open(path, O_WRONLY), EBADF, 0);
	kind("to append", open(path, O_RDWR | O_APPEND), EINVAL, EINVAL);
	kind("synchronous", open(path, O_RDWR | O_SYNC), 0, EINVAL);
	/* Not every file system has it: tmpfs of old has not. */
	pair[0] = open(path, O_RDWR | O_DIRECT);
	if (pair[0] >= 0)
		kind("past the cache", pair[0], EINVAL, EINVAL);
	kind("a path", open(path, O_PATH), EBADF, EBADF);
	kind("too short", file_of(brief, 4095, O_RDWR), EINVAL, EINVAL);
	kind("a directory", open(folder, O_RDONLY | O_DIRECTORY), EINVAL, EBADF);
	kind("a device", open("/dev/zero", O_RDWR), EINVAL, EINVAL);
	kind("of /proc", open("/proc/self/comm", O_RDWR), EINVAL, EINVAL);
	/* Files of /sys have a length of 4096. */
	kind("of /sys", open("/sys/kernel/profiling", O_RDONLY) >= 0 ?
	     open("/sys/kernel/profiling", O_RDONLY) : open("/sys/kernel/notes", O_RDONLY),
	     EINVAL, EBADF);
	HOLDS(!pipe(pair), "pipe");
	kind("a pipe's reader", pair[0], EINVAL, EBADF);
	kind("a pipe's writer", pair[1], EBADF, EINVAL);
	HOLDS(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "sockets");
	kind("a socket", pair[0], EINVAL, EINVAL);
	kind("the device itself", opened(), EINVAL, EINVAL);
}

static int error_of_file(const struct hostmark_request *request)
{
	for (int index = 0; index < count_of_kinds; index++) {
		if (kinds[index].file == request->file)
			return request->operation == HOSTMARK_FILE_READ ? kinds[index].read :
									  kinds[index].write;
	}
	/* The console, at 0 to 2. */
	int flags = fcntl(request->file, F_GETFL);
	int lacks = request->operation == HOSTMARK_FILE_READ ? O_WRONLY : O_RDONLY;

	return flags < 0 || (flags & O_ACCMODE) == lacks ? EBADF : EINVAL;
}

/* The error that README.md promises, or 0. */
static int promised(const struct hostmark_request *request)
{
	uint64_t ground_at = (uintptr_t)ground, from = request->batch;
	int irq_off = request->flags == HOSTMARK_IRQ_OFF;
	int error;

	if (request->version != 1 || request->operation > 5 || request->flags > 1 ||
	    request->reserved)
		return EINVAL;
	if (request->batches < 1 || request->batches > 1000)
		return EINVAL;
	if (request->operations < 1 || request->operations > 4294967296)
		return EINVAL;
	if (request->most_ns > (irq_off ? 10000000 : 1000000000))
		return EINVAL;
	if (is_random(request->operation)) {
		if (__builtin_popcountll(request->bytes) != 1 || request->bytes < 4096 ||
		    request->bytes > 1073741824)
			return EINVAL;
	} else if (request->bytes || request->seed) {
		return EINVAL;
	}
	if (!is_file(request->operation) && request->file != -1)
		return EINVAL;
	if (is_file(request->operation)) {
		if (irq_off)
			return EOPNOTSUPP;
		error = error_of_file(request);
		if (error)
			return error;
	}
	if (from < ground_at || from > ground_at + WRITABLE - 24 * (uint64_t)request->batches)
		return EFAULT;
	return 0;
}

static uint64_t odd_number(void)
{
	static const uint64_t EDGES[] = {
		0, 1, 2, 4095, 4096, 4097, 1000, 1001, 10000000, 10000001, 1000000000, 1000000001,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001, 1ULL << 30, 1ULL << 31,
		0x7fffffffffffffff, 0x8000000000000000, ~0ULL, ~0ULL - 23, 0xffff888000000000,
		0xffffffff81000000, 0x00007ffffffff000, 0x0000800000000000, 0xffffc90000000000,
	};
	uint64_t number = any();

	switch (number % 4) {
	case 0:
		return any() >> any() % 64;
	case 1:
		return 1ULL << any() % 64;
	default:
		return EDGES[number / 4 % (sizeof(EDGES) / sizeof(EDGES[0]))];
	}
}

/* Another value in one field. */
static void mutate(struct hostmark_request *request, int field, uint64_t value)
{
	switch (field) {
	case 0: request->version = value; break;
	case 1: request->operation = value; break;
	case 2: request->flags = value; break;
	case 3: request->batches = value; break;
	case 4: request->operations = value; break;
	case 5: request->most_ns = value; break;
	case 6: request->bytes = value; break;
	case 7: request->seed = value; break;
	case 8: request->file = value; break;
	case 9: request->reserved = value; break;
	case 10: request->batch = value; break;
	case 11: request->batch = (uintptr_t)ground + value % (4 * PAGE); break;
	case 12: request->file = kinds[value % count_of_kinds].file; break;
	default: request->operation = value % 6; break;
	}
}

#define FIELDS	14

static struct hostmark_request random_request(void)
{
	struct hostmark_request request;
	uint64_t mutations = any() % 3 + 1;

	request = well_formed(any() % 6, (struct hostmark_batch *)ground);
	request.flags = any() % 2;
	if (is_file(request.operation))
		request.file = kinds[0].file;
	/* Now and then nothing is as it should be. */
	if (any() % 16 == 0) {
		for (size_t at = 0; at < sizeof(request); at += 8) {
			uint64_t word = any();

			memcpy((char *)&request + at, &word, 8);
		}
	}
	while (mutations--) {
		int field = any() % FIELDS;

		mutate(&request, field, odd_number());
	}
	return request;
}

static void is_refused(int device, const struct hostmark_request *sent)
{
	struct hostmark_request request = *sent;
	int error = run(device, &request), wanted = promised(sent);

	HOLDS(error == wanted,
	      "errno %d, not %d: version %u operation %u flags %x batches %u operations %llx most_ns %llx bytes %llx seed %llx file %d reserved %u batch %llx",
	      error, wanted, sent->version, sent->operation, sent->flags, sent->batches,
	      (unsigned long long)sent->operations, (unsigned long long)sent->most_ns,
	      (unsigned long long)sent->bytes, (unsigned long long)sent->seed, sent->file,
	      sent->reserved, (unsigned long long)sent->batch);
	HOLDS(!memcmp(&request, sent, sizeof(request)), "a refused request was changed");
}

static void all_is_well(int device)
{
	for (uint32_t operation = 0; operation <= HOSTMARK_RANDOM_WRITE; operation++) {
		struct hostmark_request request =
			well_formed(operation, (struct hostmark_batch *)ground);

		if (is_file(operation))
			request.file = kinds[0].file;
		HOLDS(!run(device, &request), "operation %u does no more", operation);
		HOLDS(request.check == (operation == HOSTMARK_SIEVE ? PRIMES : 0), "its check");
	}
}

/* Each field's edge by itself. */
static int edges(int device)
{
	static const struct {
		int field;
		uint64_t value;
	} EDGES[] = {
		{ 0, 0 }, { 0, 2 }, { 1, 6 }, { 1, ~0ULL }, { 2, 2 }, { 2, 1ULL << 31 }, { 3, 0 },
		{ 3, 1001 }, { 4, 0 }, { 4, 4294967297 }, { 5, 1000000001 }, { 6, 2048 }, { 6, 4095 },
		{ 6, 12288 }, { 6, 1ULL << 31 }, { 6, ~0ULL }, { 9, 1 }, { 9, 1ULL << 31 }, { 10, 0 },
		{ 10, ~0ULL }, { 10, 0xffff888000000000 }, { 11, WRITABLE - 23 }, { 11, WRITABLE },
		{ 11, 3 * PAGE },
	};
	int count = 0;

	for (uint32_t operation = 0; operation <= HOSTMARK_RANDOM_WRITE; operation++) {
		for (unsigned int index = 0; index < sizeof(EDGES) / sizeof(EDGES[0]); index++) {
			struct hostmark_request request =
				well_formed(operation, (struct hostmark_batch *)ground);

			if (is_file(operation))
				request.file = kinds[0].file;
			mutate(&request, EDGES[index].field, EDGES[index].value);
			HOLDS(promised(&request), "an edge is inside");
			is_refused(device, &request);
			count++;
		}
	}
	for (int index = 0; index < count_of_kinds; index++) {
		for (uint32_t operation = HOSTMARK_FILE_READ; operation <= HOSTMARK_FILE_WRITE;
		     operation++) {
			struct hostmark_request request =
				well_formed(operation, (struct hostmark_batch *)ground);
			int error;

			request.file = kinds[index].file;
			error = promised(&request);
			HOLDS(run(device, &request) == error, "file %s, operation %u: not %d",
			      kinds[index].name, operation, error);
			count += !!error;
		}
	}
	/* The limits with interrupts off, and what is no such request at all. */
	struct hostmark_request request = well_formed(HOSTMARK_SIEVE, (struct hostmark_batch *)ground);

	request.flags = HOSTMARK_IRQ_OFF;
	request.most_ns = HOSTMARK_MOST_NS_IRQ_OFF + 1;
	is_refused(device, &request);
	HOLDS(ioctl(device, HOSTMARK_RUN, NULL) && errno == EFAULT, "no request");
	HOLDS(ioctl(device, HOSTMARK_RUN, ground + 3 * PAGE - 8) && errno == EFAULT, "half of one");
	HOLDS(ioctl(device, _IOWR('h', 0xb1, char[71]), &request) && errno == ENOTTY, "its size");
	HOLDS(ioctl(device, _IOWR('h', 0xb2, struct hostmark_request), &request) && errno == ENOTTY,
	      "its number");
	HOLDS(write(device, &request, 8) && errno == EINVAL, "a write to the device");
	return count + 6;
}

void malformed(const char *folder, uint64_t count, uint64_t seed)
{
	int device = opened();
	uint64_t sent = 0;

	state = seed;
	ground = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(ground != MAP_FAILED, "map");
	HOLDS(!mprotect(ground + WRITABLE, PAGE, PROT_READ), "a page to read");
	HOLDS(!munmap(ground + 3 * PAGE, PAGE), "a page that is not there");
	open_kinds(folder);
	all_is_well(device);
	printf("  %d edges are refused\n", edges(device));
	all_is_well(device);
	while (sent < count) {
		struct hostmark_request request = random_request();

		/* What is well formed by chance may take a second for each batch. */
		if (!promised(&request))
			continue;
		is_refused(device, &request);
		sent++;
		if (sent % (count / 10 + 1) == 0)
			all_is_well(device);
	}
	all_is_well(device);
	close(device);
	printf("ok: %llu malformed requests of seed %llu are refused, each with its error\n",
	       (unsigned long long)sent, (unsigned long long)seed);
}

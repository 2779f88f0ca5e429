// SPDX-License-Identifier: GPL-2.0
/* Every operation does what it says, and says how long it took. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define BATCHES	5
/* By which an emulated machine may overrun a limit. */
#define MARGIN_NS	100000000ULL

static const char *const NAMES[] = {
	"null_call", "file_read", "file_write", "sieve", "random_read", "random_write",
};

#ifdef __x86_64__
static uint64_t counter(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static uint64_t counter(void)
{
	uint64_t value;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#endif

/* Runs it, and looks at what any operation has to give. */
static void plausible(int device, struct hostmark_request request)
{
	struct hostmark_batch *batch = (struct hostmark_batch *)(uintptr_t)request.batch;
	uint64_t asked = request.operations, begin = now_ns(), begin_counter = counter();
	uint64_t ns = 0, cycles = 0, wall, ticks;

	HOLDS(!run(device, &request), "operation %u flags %u", request.operation, request.flags);
	wall = now_ns() - begin;
	ticks = counter() - begin_counter;
	HOLDS(request.batches == BATCHES, "%u batches", request.batches);
	for (int index = 0; index < BATCHES; index++) {
		uint64_t done = batch[index].operations;

		HOLDS(batch[index].ns && batch[index].cycles && done, "batch %d is empty", index);
		/* Random accesses come in blocks of 64. */
		HOLDS(done < asked + 64, "%llu done of %llu", (unsigned long long)done,
		      (unsigned long long)asked);
		HOLDS(is_random(request.operation) || done <= asked, "too many");
		HOLDS(done >= asked || batch[index].ns >= HOSTMARK_MOST_NS_IRQ_OFF / 4,
		      "it ended early: %llu of %llu in %llu ns", (unsigned long long)done,
		      (unsigned long long)asked, (unsigned long long)batch[index].ns);
		ns += batch[index].ns;
		cycles += batch[index].cycles;
	}
	HOLDS(ns <= wall, "%llu ns within %llu", (unsigned long long)ns, (unsigned long long)wall);
	HOLDS(cycles <= ticks, "%llu cycles within %llu", (unsigned long long)cycles,
	      (unsigned long long)ticks);
	HOLDS(request.check == (request.operation == HOSTMARK_SIEVE ? PRIMES : 0), "check is %llu",
	      (unsigned long long)request.check);
	printf("  %s irq=%s: %llu ns, %llu cycles in %llu operations (emulated)\n",
	       NAMES[request.operation], request.flags ? "off" : "on",
	       (unsigned long long)batch[0].ns, (unsigned long long)batch[0].cycles,
	       (unsigned long long)batch[0].operations);
}

static void every_operation(int device, const char *folder)
{
	static const uint64_t SIZES[] = { 1 << 12, 1 << 20, 1 << 26, 1 << 12 };
	struct hostmark_batch batch[BATCHES];
	struct hostmark_request request;
	char path[256];

	snprintf(path, sizeof(path), "%s/read", folder);
	for (uint32_t operation = 0; operation <= HOSTMARK_RANDOM_WRITE; operation++) {
		for (uint32_t flags = 0; flags <= HOSTMARK_IRQ_OFF; flags++) {
			request = well_formed(operation, batch);
			request.batches = BATCHES;
			request.operations = operation == HOSTMARK_SIEVE ? 1 : 1000;
			request.flags = flags;
			if (is_file(operation))
				request.file = file_of(path, 12288, O_RDWR);
			if (is_file(operation) && flags)
				HOLDS(run(device, &request) == EOPNOTSUPP, "a file without interrupts");
			else
				plausible(device, request);
			if (is_file(operation))
				close(request.file);
		}
	}
	for (unsigned int size = 0; size < sizeof(SIZES) / sizeof(SIZES[0]); size++) {
		request = well_formed(HOSTMARK_RANDOM_WRITE, batch);
		request.batches = BATCHES;
		request.operations = 100000;
		request.bytes = SIZES[size];
		request.seed = ~0ULL;
		plausible(device, request);
	}
	unlink(path);
}

/* What is written stands at the start, and nothing else has changed. */
static void files(int device, const char *folder)
{
	unsigned char now[12289];
	struct hostmark_batch batch;
	struct hostmark_request request;
	struct stat facts;
	char path[256];

	snprintf(path, sizeof(path), "%s/written", folder);
	for (uint32_t operation = HOSTMARK_FILE_READ; operation <= HOSTMARK_FILE_WRITE; operation++) {
		int file = file_of(path, 12288, O_RDWR);

		HOLDS(lseek(file, 5000, SEEK_SET) == 5000, "seek");
		request = well_formed(operation, &batch);
		request.operations = 7;
		request.file = file;
		HOLDS(!run(device, &request), "operation %u", operation);
		HOLDS(lseek(file, 0, SEEK_CUR) == 5000, "the file's position moved");
		HOLDS(!fstat(file, &facts) && facts.st_size == 12288, "the length changed");
		HOLDS(pread(file, now, sizeof(now), 0) == 12288, "read it again");
		for (int index = 0; index < 12288; index++) {
			uint64_t word = (index / 8 + 1) * 0x9e3779b97f4a7c15ULL;
			unsigned char wanted = word >> index % 8 * 8;

			if (operation == HOSTMARK_FILE_READ || index >= HOSTMARK_FILE_BYTES)
				wanted = 0x11;
			HOLDS(now[index] == wanted, "byte %d after operation %u", index, operation);
		}
		close(file);
	}
	unlink(path);
}

/* A batch ends by its time: with interrupts off that is 10 ms, which an emulator may stretch. */
static void limits(int device)
{
	struct hostmark_batch batch[BATCHES];
	struct hostmark_request request;
	uint64_t most = 0;

	for (uint32_t operation = 0; operation <= HOSTMARK_RANDOM_WRITE; operation++) {
		if (is_file(operation))
			continue;
		for (uint32_t flags = 0; flags <= HOSTMARK_IRQ_OFF; flags++) {
			request = well_formed(operation, batch);
			request.batches = BATCHES;
			request.operations = HOSTMARK_MOST_OPERATIONS;
			request.most_ns = flags ? 0 : 5000000;
			request.flags = flags;
			HOLDS(!run(device, &request), "operation %u", operation);
			for (int index = 0; index < BATCHES; index++) {
				uint64_t limit = flags ? HOSTMARK_MOST_NS_IRQ_OFF : 5000000;

				/* With interrupts off it ends before it would be too long. */
				HOLDS(flags || batch[index].ns >= limit, "ended early");
				HOLDS(batch[index].operations, "nothing was done");
				HOLDS(batch[index].ns < limit + MARGIN_NS, "%llu ns of %s",
				      (unsigned long long)batch[index].ns, NAMES[operation]);
				if (flags && batch[index].ns > most)
					most = batch[index].ns;
			}
		}
	}
	printf("  interrupts were off for %llu us at most\n", (unsigned long long)most / 1000);
}

static long available_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *all = fopen("/proc/meminfo", "r");

	HOLDS(all, "/proc/meminfo");
	while (fgets(line, sizeof(line), all) && sscanf(line, "MemAvailable: %ld", &kib) != 1)
		;
	fclose(all);
	return kib;
}

/* What is too much is refused, and the machine is as before. */
static void memory(int device)
{
	struct hostmark_batch batch;
	struct hostmark_request request = well_formed(HOSTMARK_RANDOM_READ, &batch);
	int others[40];
	int count = 0, error = 0;

	/* The guest has less than twice as much. */
	request.bytes = HOSTMARK_MOST_BYTES;
	HOLDS(run(device, &request) == ENOMEM, "1 GiB was had");
	request.bytes = 1 << 20;
	HOLDS(!run(device, &request), "1 MiB after it");
	/* Many open files share what there is. */
	while (count < 40 && !error) {
		request = well_formed(HOSTMARK_RANDOM_READ, &batch);
		request.bytes = 1 << 26;
		others[count] = opened();
		error = run(others[count++], &request);
	}
	HOLDS(error == ENOMEM && count > 1, "after %d times 64 MiB", count);
	/* Half of what there was before the last is left, that is as much again. */
	HOLDS(available_kib() > 48 << 10, "%ld KiB are left to others", available_kib());
	printf("  %d open files had 64 MiB each, the next was refused\n", count - 1);
	while (count)
		close(others[--count]);
	request = well_formed(HOSTMARK_RANDOM_READ, &batch);
	request.bytes = 1 << 26;
	HOLDS(!run(device, &request), "64 MiB after they were closed");
}

/* Processes that share one open file wait for each other, also where each wants another memory. */
static void shared(int device)
{
	pid_t children[4];

	for (int child = 0; child < 4; child++) {
		children[child] = fork();
		HOLDS(children[child] >= 0, "fork");
		if (children[child])
			continue;
		for (int turn = 0; turn < 50; turn++) {
			struct hostmark_batch batch;
			struct hostmark_request request =
				well_formed(HOSTMARK_RANDOM_READ + turn % 2, &batch);

			request.bytes = 1 << (12 + 2 * child + turn % 3);
			request.operations = 20000;
			HOLDS(!run(device, &request), "child %d, turn %d", child, turn);
			HOLDS(batch.operations >= request.operations, "it ended early");
		}
		_exit(0);
	}
	for (int child = 0; child < 4; child++) {
		int status;

		HOLDS(waitpid(children[child], &status, 0) == children[child] && !status,
		      "child %d failed", child);
	}
}

void uses(const char *folder)
{
	int device = opened();

	every_operation(device, folder);
	files(device, folder);
	limits(device);
	memory(device);
	shared(device);
	close(device);
	printf("ok: every operation does what it says\n");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The tester of /dev/hostmark: `client uses FOLDER`, `client malformed FOLDER COUNT SEED`,
 * `client killed FOLDER COUNT`, `client loads MODULE IDLE BUSY`, `client refused`. Prints what it
 * did; exit code 1 at the first thing that is not as README.md says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

void fails(const char *file, int line, const char *what, const char *format, ...)
{
	int error = errno;
	va_list list;

	printf("FAILED %s:%d: %s does not hold: ", file, line, what);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	printf(" (errno %d, %s)\n", error, strerror(error));
	fflush(stdout);
	/* No return to what a child shares with its parent. */
	_exit(1);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int is_file(uint32_t operation)
{
	return operation == HOSTMARK_FILE_READ || operation == HOSTMARK_FILE_WRITE;
}

int is_random(uint32_t operation)
{
	return operation == HOSTMARK_RANDOM_READ || operation == HOSTMARK_RANDOM_WRITE;
}

struct hostmark_request well_formed(uint32_t operation, struct hostmark_batch *batch)
{
	struct hostmark_request request = {
		.version = HOSTMARK_VERSION,
		.operation = operation,
		.batches = 1,
		.operations = 1,
		.bytes = is_random(operation) ? 1 << 16 : 0,
		.file = -1,
		.batch = (uintptr_t)batch,
	};

	return request;
}

int run(int device, struct hostmark_request *request)
{
	return ioctl(device, HOSTMARK_RUN, request) ? errno : 0;
}

int opened(void)
{
	int device = open(DEVICE, O_RDWR | O_CLOEXEC);

	HOLDS(device >= 0, "open %s", DEVICE);
	return device;
}

int file_of(const char *path, long bytes, int flags)
{
	char part[4096];
	int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	HOLDS(file >= 0, "create %s", path);
	memset(part, 0x11, sizeof(part));
	for (long left = bytes; left > 0; left -= sizeof(part)) {
		size_t now = left < (long)sizeof(part) ? (size_t)left : sizeof(part);

		HOLDS(write(file, part, now) == (ssize_t)now, "write %s", path);
	}
	close(file);
	file = open(path, flags | O_CLOEXEC);
	HOLDS(file >= 0, "open %s", path);
	return file;
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "uses") && count == 3)
		uses(words[2]);
	else if (!strcmp(what, "malformed") && count == 5)
		malformed(words[2], strtoull(words[3], NULL, 0), strtoull(words[4], NULL, 0));
	else if (!strcmp(what, "killed") && count == 4)
		killed(words[2], atoi(words[3]));
	else if (!strcmp(what, "loads") && count == 5)
		loads(words[2], atoi(words[3]), atoi(words[4]));
	else if (!strcmp(what, "refused") && count == 2)
		refused();
	else
		HOLDS(0, "'%s' is nothing to test", what);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/* Clients that are killed or may not, and a module that comes and goes under them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define CLIENTS	3

/* As much as one request may ask for: many minutes. */
static struct hostmark_request endless(uint32_t operation, uint32_t flags, int file,
				       struct hostmark_batch *batch)
{
	struct hostmark_request request = well_formed(operation, batch);

	request.batches = HOSTMARK_MOST_BATCHES;
	request.operations = HOSTMARK_MOST_OPERATIONS;
	request.flags = flags;
	request.file = file;
	if (is_random(operation))
		request.bytes = 1 << 26;
	return request;
}

static struct hostmark_batch many[HOSTMARK_MOST_BATCHES];

static void heard(int signal)
{
	(void)signal;
}

/* A signal that is handled ends a request with what is done by then. */
static void interrupted(void)
{
	struct hostmark_request request = endless(HOSTMARK_SIEVE, 0, -1, many);
	struct sigaction action = { .sa_handler = heard, .sa_flags = SA_RESTART };
	struct itimerval soon = { .it_value.tv_usec = 300000 }, never = { 0 };
	int device = opened();

	HOLDS(!sigaction(SIGALRM, &action, NULL), "hear a signal");
	request.most_ns = 5000000;
	HOLDS(!setitimer(ITIMER_REAL, &soon, NULL), "a timer");
	HOLDS(!run(device, &request), "ended by a signal");
	HOLDS(request.batches > 0 && request.batches < HOSTMARK_MOST_BATCHES, "%u batches",
	      request.batches);
	for (uint32_t index = 0; index < HOSTMARK_MOST_BATCHES; index++)
		HOLDS(!many[index].operations == (index >= request.batches), "batch %u", index);
	printf("  a signal ended a request after %u batches\n", request.batches);
	/* Before the first is over: nothing is done. */
	request = endless(HOSTMARK_SIEVE, 0, -1, many);
	HOLDS(!setitimer(ITIMER_REAL, &soon, NULL), "a timer");
	HOLDS(run(device, &request) == EINTR, "not ended by a signal");
	HOLDS(!setitimer(ITIMER_REAL, &never, NULL), "no timer");
	close(device);
}

static long kept(void)
{
	char line[512];
	long count = 0;
	FILE *all = fopen("/proc/vmallocinfo", "r");

	HOLDS(all, "/proc/vmallocinfo");
	while (fgets(line, sizeof(line), all))
		count += !!strstr(line, "[hostmark]") && !strstr(line, "module_alloc");
	fclose(all);
	return count;
}

void killed(const char *folder, int count)
{
	uint64_t slowest = 0;
	char path[256];
	int file;

	interrupted();
	snprintf(path, sizeof(path), "%s/killed", folder);
	file = file_of(path, 8192, O_RDWR);
	/* What a client has is seen, and is gone once it closed. */
	{
		struct hostmark_request request = well_formed(HOSTMARK_RANDOM_READ, many);
		int device = opened();

		HOLDS(!run(device, &request), "random accesses");
		HOLDS(kept() > 0, "the memory of a client is not to be seen");
		close(device);
	}
	HOLDS(!kept(), "%ld pieces of memory are kept before any client", kept());
	for (int index = 0; index < count; index++) {
		uint32_t operation = index % 6;
		uint32_t flags = is_file(operation) ? 0 : index / 6 % 2;
		int status;
		uint64_t begin;
		pid_t child = fork();

		HOLDS(child >= 0, "fork");
		if (!child) {
			struct hostmark_request request =
				endless(operation, flags, is_file(operation) ? file : -1, many);

			run(opened(), &request);
			HOLDS(0, "operation %u came to an end", operation);
		}
		usleep(20000 + index % 7 * 20000);
		HOLDS(!waitpid(child, &status, WNOHANG), "operation %u ended by itself", operation);
		begin = now_ns();
		HOLDS(!kill(child, SIGKILL), "kill");
		HOLDS(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "wait");
		if (now_ns() - begin > slowest)
			slowest = now_ns() - begin;
	}
	HOLDS(slowest < 5000000000ULL, "a killed client lived on for %llu ns",
	      (unsigned long long)slowest);
	HOLDS(!kept(), "%ld pieces of memory are kept after all clients", kept());
	unlink(path);
	printf("ok: %d clients were killed in a request and left nothing; the slowest took %llu us\n",
	       count, (unsigned long long)slowest / 1000);
}

/* Who is not root is refused by the mode of the device, and by its driver if that is opened up. */
void refused(void)
{
	for (int opened_up = 0; opened_up < 2; opened_up++) {
		int status;
		pid_t child;

		if (opened_up)
			HOLDS(!chmod(DEVICE, 0666), "chmod");
		child = fork();
		HOLDS(child >= 0, "fork");
		if (!child) {
			HOLDS(!setgid(65534) && !setuid(65534), "be nobody");
			HOLDS(open(DEVICE, O_RDWR) < 0 && errno == (opened_up ? EPERM : EACCES),
			      "nobody has it open");
			_exit(0);
		}
		HOLDS(waitpid(child, &status, 0) == child && !status, "nobody was let in");
	}
	HOLDS(!chmod(DEVICE, 0600), "chmod");
	printf("ok: who is not root is refused\n");
}

static void load(const char *module)
{
	int file = open(module, O_RDONLY | O_CLOEXEC);

	HOLDS(file >= 0, "open %s", module);
	HOLDS(!syscall(SYS_finit_module, file, "", 0), "load %s", module);
	close(file);
}

/* Whether it went: a module that is used stays. */
static int unload(void)
{
	if (!syscall(SYS_delete_module, "hostmark", O_NONBLOCK))
		return 1;
	HOLDS(errno == EAGAIN || errno == EBUSY, "unload");
	return 0;
}

/* Opens, asks and closes for ever, as long as there is a device. */
static void client(void)
{
	for (unsigned int turn = 0;; turn++) {
		struct hostmark_batch batch;
		uint32_t operation = turn % 6;
		struct hostmark_request request;
		int device;

		if (is_file(operation))
			operation = HOSTMARK_NULL_CALL;
		device = open(DEVICE, O_RDWR);
		if (device < 0) {
			HOLDS(errno == ENOENT || errno == ENXIO || errno == ENODEV, "open");
			usleep(100);
			continue;
		}
		request = well_formed(operation, &batch);
		request.flags = turn / 6 % 2;
		HOLDS(!run(device, &request), "operation %u", operation);
		close(device);
		usleep(turn % 5 * 200);
	}
}

void loads(const char *module, int idle, int busy)
{
	pid_t clients[CLIENTS];
	uint64_t last_ns;
	int went = 0, stayed = 0;

	for (int turn = 0; turn < idle; turn++) {
		int device;

		load(module);
		/* The reference of an open file keeps it. */
		device = opened();
		HOLDS(!unload(), "it went from under an open file");
		close(device);
		HOLDS(unload(), "it stayed");
	}
	printf("  loaded and unloaded %d times, idle\n", idle);
	load(module);
	for (int index = 0; index < CLIENTS; index++) {
		clients[index] = fork();
		HOLDS(clients[index] >= 0, "fork");
		if (!clients[index])
			client();
	}
	/* Until it went as often as it should, and was refused in between: clients are there for that. */
	last_ns = now_ns() + 60000000000ULL;
	while (went < busy || (busy && !stayed && now_ns() < last_ns)) {
		if (unload()) {
			went++;
			load(module);
		} else {
			stayed++;
			usleep(500);
		}
	}
	for (int index = 0; index < CLIENTS; index++) {
		int status;

		HOLDS(!waitpid(clients[index], &status, WNOHANG), "a client ended");
		HOLDS(!kill(clients[index], SIGKILL), "kill");
		HOLDS(waitpid(clients[index], &status, 0) == clients[index], "wait");
	}
	HOLDS(unload(), "it stays without clients");
	HOLDS(!busy || stayed, "it was never busy");
	printf("ok: loaded and unloaded %d times idle, %d times busy, where it was refused %d times\n",
	       idle, went, stayed);
}

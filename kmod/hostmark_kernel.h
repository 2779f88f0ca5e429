/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT OR Apache-2.0 */
/*
 * What a program may ask of /dev/hostmark.
 *
 * One call, HOSTMARK_RUN, does one operation many times, in batches, and gives
 * the time of each batch as the kernel's clocks have it. See README.md for what
 * is refused, and with which error.
 */
#ifndef HOSTMARK_KERNEL_H
#define HOSTMARK_KERNEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define HOSTMARK_VERSION	1

enum {
	HOSTMARK_NULL_CALL,	/* an indirect call of an empty function */
	HOSTMARK_FILE_READ,	/* 4 KiB from offset 0 of a file */
	HOSTMARK_FILE_WRITE,	/* 4 KiB to offset 0 of a file */
	HOSTMARK_SIEVE,		/* the primes below a million */
	HOSTMARK_RANDOM_READ,	/* a load at a random place of a memory */
	HOSTMARK_RANDOM_WRITE,	/* a store at one */
};

/* Interrupts are off while a batch runs; refused for files. */
#define HOSTMARK_IRQ_OFF	1u

struct hostmark_batch {
	__u64 ns;		/* CLOCK_MONOTONIC_RAW */
	__u64 cycles;		/* TSC, generic counter */
	__u64 operations;	/* done, at least one */
};

struct hostmark_request {
	__u32 version;		/* HOSTMARK_VERSION */
	__u32 operation;	/* HOSTMARK_NULL_CALL to HOSTMARK_RANDOM_WRITE */
	__u32 flags;		/* 0 or HOSTMARK_IRQ_OFF */
	__u32 batches;		/* 1 to 1000; back: those that were filled */
	__u64 operations;	/* asked for in each batch, 1 to 2^32 */
	__u64 most_ns;		/* after which a batch ends; 0: the limit itself */
	__u64 bytes;		/* of memory, for RANDOM; else 0 */
	__u64 seed;		/* of the places, for RANDOM: the last one goes on; else 0 */
	__s32 file;		/* descriptor, for FILE; else -1 */
	__u32 reserved;		/* 0 */
	__u64 batch;		/* address of `batches` struct hostmark_batch */
	__u64 check;		/* back: primes found by SIEVE, else 0 */
};

#define HOSTMARK_RUN	_IOWR('h', 0xb1, struct hostmark_request)

/* Limits of what may be asked for. */
#define HOSTMARK_MOST_BATCHES		1000
#define HOSTMARK_MOST_OPERATIONS	0x100000000ULL
#define HOSTMARK_MOST_NS		1000000000ULL
#define HOSTMARK_MOST_NS_IRQ_OFF	10000000ULL
#define HOSTMARK_LEAST_BYTES		0x1000ULL
#define HOSTMARK_MOST_BYTES		0x40000000ULL
#define HOSTMARK_FILE_BYTES		4096

#endif

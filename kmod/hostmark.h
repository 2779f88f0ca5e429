/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the module have of each other. */
#ifndef HOSTMARK_H
#define HOSTMARK_H

#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "hostmark_kernel.h"

/* The caller's cgroup pays; what is not easily had is refused, and nobody killed. */
#define HOSTMARK_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#define HOSTMARK_SIEVE_WORDS	7813
/* Accesses in a turn of the assembly's loop. */
#define HOSTMARK_BLOCK		64

/* What the loops over random places work on; they know each offset. */
struct hostmark_places {
	u64 generators[4];
	u64 factor;
	u64 mask;		/* of an offset in the memory: a word, aligned */
	u64 at;
	u64 end;
	u64 start;
};

/* What an open file keeps from one request to the next. */
struct hostmark_opened {
	struct mutex one;	/* request at a time */
	u64 *memory;		/* of random accesses, or NULL */
	u64 bytes;		/* of it */
	u64 seed;		/* of the places in it */
	struct hostmark_places places;	/* where the last request stopped */
};

/* One request under way. */
struct hostmark_work {
	const struct hostmark_request *request;
	struct file *file;	/* of FILE, else NULL */
	void *page;		/* what FILE reads into or writes from */
	u64 *composite;		/* the sieve's words */
	struct hostmark_places *places;	/* of RANDOM, else NULL */
	u64 primes;		/* found by the last sieve, or by the first that erred */
};

/* loops.S */
void hostmark_random_read(struct hostmark_places *places, u64 blocks);
void hostmark_random_write(struct hostmark_places *places, u64 blocks);
u64 hostmark_sieve_million(u64 *composite);

/* request.c: whether a request is well formed, as 0 or an error */
int hostmark_request_fit(const struct hostmark_request *request);
bool hostmark_is_file(u32 operation);
bool hostmark_is_random(u32 operation);

/* file.c */
int hostmark_file_get(const struct hostmark_request *request, struct file **file);
int hostmark_file_page(struct hostmark_work *work);
int hostmark_file_once(struct hostmark_work *work);

/* memory.c */
int hostmark_memory_have(struct hostmark_opened *opened, u64 bytes);
void hostmark_memory_drop(struct hostmark_opened *opened);
struct hostmark_places *hostmark_memory_places(struct hostmark_opened *opened, u64 seed);

/* batch.c: one batch, as 0 or an error */
int hostmark_batch_run(struct hostmark_work *work, struct hostmark_batch *batch);

#endif

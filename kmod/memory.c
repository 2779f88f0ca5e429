// SPDX-License-Identifier: GPL-2.0
/* The memory of random accesses: who has how much, and what is in it. */

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "hostmark.h"

/* Of all open files together. */
#define HOSTMARK_MOST_BYTES_OF_ALL	(2 * HOSTMARK_MOST_BYTES)
/* Words that are filled before others get a turn: 256 KiB. */
#define HOSTMARK_WORDS_A_TURN		0x8000
/* An odd factor (Knuth, MMIX), as in the program's loop. */
#define HOSTMARK_FACTOR			6364136223846793005ULL

/* Guards hostmark_bytes, and lets one ask for memory at a time. */
static DEFINE_MUTEX(hostmark_memory_lock);
static u64 hostmark_bytes;

/* The loops in assembly know the offsets. */
static_assert(offsetof(struct hostmark_places, factor) == 32);
static_assert(offsetof(struct hostmark_places, mask) == 40);
static_assert(offsetof(struct hostmark_places, at) == 48);
static_assert(offsetof(struct hostmark_places, end) == 56);
static_assert(offsetof(struct hostmark_places, start) == 64);

/* SplitMix64, as in the program. */
static u64 hostmark_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Fills it, so that each page is there and none is like another. */
static int hostmark_memory_fill(u64 *memory, u64 bytes)
{
	u64 words = bytes / sizeof(*memory);
	u64 index;

	for (index = 0; index < words; index++) {
		memory[index] = (index + 1) * 0x9e3779b97f4a7c15ULL;
		if (index % HOSTMARK_WORDS_A_TURN)
			continue;
		cond_resched();
		if (signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static void hostmark_memory_forget(struct hostmark_opened *opened)
{
	lockdep_assert_held(&hostmark_memory_lock);
	vfree(opened->memory);
	hostmark_bytes -= opened->bytes;
	opened->memory = NULL;
	opened->bytes = 0;
	opened->places.start = 0;
}

void hostmark_memory_drop(struct hostmark_opened *opened)
{
	mutex_lock(&hostmark_memory_lock);
	hostmark_memory_forget(opened);
	mutex_unlock(&hostmark_memory_lock);
}

/*
 * Sees to it that the open file has so much memory, of base pages. What is not
 * easily had is refused: nobody's process is killed for it.
 */
static int hostmark_memory_get(struct hostmark_opened *opened, u64 bytes)
{
	long pages = bytes >> PAGE_SHIFT;

	lockdep_assert_held(&hostmark_memory_lock);
	hostmark_memory_forget(opened);
	if (hostmark_bytes + bytes > HOSTMARK_MOST_BYTES_OF_ALL ||
	    pages > si_mem_available() / 2)
		return -ENOMEM;
	opened->memory = __vmalloc(bytes, HOSTMARK_GFP);
	if (!opened->memory)
		return signal_pending(current) ? -EINTR : -ENOMEM;
	opened->bytes = bytes;
	hostmark_bytes += bytes;
	return 0;
}

int hostmark_memory_have(struct hostmark_opened *opened, u64 bytes)
{
	int error;

	if (opened->bytes == bytes)
		return 0;
	if (mutex_lock_interruptible(&hostmark_memory_lock))
		return -EINTR;
	error = hostmark_memory_get(opened, bytes);
	mutex_unlock(&hostmark_memory_lock);
	if (error)
		return error;
	error = hostmark_memory_fill(opened->memory, bytes);
	/* What is half filled is no memory to measure. */
	if (error)
		hostmark_memory_drop(opened);
	return error;
}

/*
 * The places in its memory. A request with the seed of the last one goes on
 * where that stopped: the same places again would be in the cache by now,
 * however large the memory is.
 */
struct hostmark_places *hostmark_memory_places(struct hostmark_opened *opened, u64 seed)
{
	struct hostmark_places *places = &opened->places;
	u64 state = seed;
	int index;

	if (places->start && opened->seed == seed)
		return places;
	opened->seed = seed;
	for (index = 0; index < ARRAY_SIZE(places->generators); index++)
		places->generators[index] = hostmark_random(&state) | 1;
	places->factor = HOSTMARK_FACTOR;
	places->mask = opened->bytes - sizeof(*opened->memory);
	places->start = (unsigned long)opened->memory;
	places->at = places->start;
	places->end = places->start + opened->bytes;
	return places;
}

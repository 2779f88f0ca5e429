// SPDX-License-Identifier: GPL-2.0
/* One batch of operations: how long it lasts, and who may interrupt it. */

#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "hostmark.h"

/*
 * The clock is read, and others are looked after, between slices. A slice of
 * so long costs a reader of the clock less than a thousandth, and holds nobody
 * up: shorter ones are doubled, longer ones halved.
 */
#define HOSTMARK_LEAST_SLICE_NS		50000
#define HOSTMARK_MOST_SLICE_NS		200000
#define HOSTMARK_FIRST_SLICE		64
#define HOSTMARK_MOST_SLICE		0x100000

static noinline void hostmark_empty(void)
{
	/* Keeps the compiler from knowing that there is nothing. */
	barrier();
}

static void (*hostmark_callee)(void) = hostmark_empty;

static void hostmark_call(u64 count)
{
	while (count--)
		READ_ONCE(hostmark_callee)();
}

static void hostmark_sieves(struct hostmark_work *work, u64 count)
{
	while (count--) {
		u64 primes = hostmark_sieve_million(work->composite);

		if (!work->primes)
			work->primes = primes;
		/* One that errs is what the caller must hear of. */
		if (primes != work->primes)
			work->primes = U64_MAX;
	}
}

/* Does some; `done` is how many, since a file's may be ended by a signal. */
static int hostmark_slice(struct hostmark_work *work, u64 count, u64 *done)
{
	u64 index;
	int error;

	*done = count;
	switch (work->request->operation) {
	case HOSTMARK_NULL_CALL:
		hostmark_call(count);
		return 0;
	case HOSTMARK_SIEVE:
		hostmark_sieves(work, count);
		return 0;
	case HOSTMARK_RANDOM_READ:
		*done = round_up(count, HOSTMARK_BLOCK);
		hostmark_random_read(work->places, *done / HOSTMARK_BLOCK);
		return 0;
	case HOSTMARK_RANDOM_WRITE:
		*done = round_up(count, HOSTMARK_BLOCK);
		hostmark_random_write(work->places, *done / HOSTMARK_BLOCK);
		return 0;
	default:
		/* A disk may take its time: a signal is heard at once. */
		for (index = 0; index < count; index++) {
			if (signal_pending(current))
				return -EINTR;
			error = hostmark_file_once(work);
			if (error)
				return error;
		}
		return 0;
	}
}

/* The counter of cycles, after all that came before. */
static u64 hostmark_cycles(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return get_cycles();
#endif
}

static u64 hostmark_first_slice(u32 operation)
{
	/* A sieve takes long enough by itself, a file may. */
	if (operation == HOSTMARK_SIEVE || hostmark_is_file(operation))
		return 1;
	return HOSTMARK_FIRST_SLICE;
}

static u64 hostmark_next_slice(u64 count, u64 took_ns)
{
	if (took_ns < HOSTMARK_LEAST_SLICE_NS)
		return min_t(u64, count * 2, HOSTMARK_MOST_SLICE);
	if (took_ns > HOSTMARK_MOST_SLICE_NS)
		return max_t(u64, count / 2, 1);
	return count;
}

/* Slice after slice, until all is done or the time is over. */
static int hostmark_slices(struct hostmark_work *work, u64 most_ns, bool irq_off,
			   struct hostmark_batch *batch)
{
	const struct hostmark_request *request = work->request;
	u64 count = hostmark_first_slice(request->operation);
	u64 begin_cycles, begin_ns, now_ns, took_ns, beyond_ns;
	u64 done;
	int error;

	batch->operations = 0;
	begin_ns = ktime_get_raw_ns();
	begin_cycles = hostmark_cycles();
	now_ns = begin_ns;
	do {
		count = min(count, request->operations - batch->operations);
		error = hostmark_slice(work, count, &done);
		if (error)
			return error;
		batch->operations += done;
		batch->cycles = hostmark_cycles() - begin_cycles;
		took_ns = ktime_get_raw_ns() - now_ns;
		now_ns += took_ns;
		batch->ns = now_ns - begin_ns;
		if (irq_off) {
			/* A clock that lives on interrupts would never end this. */
			if (!took_ns && count >= HOSTMARK_FIRST_SLICE)
				return -EOPNOTSUPP;
			/* Nor is there a slice that would end too late. */
			beyond_ns = took_ns;
		} else {
			cond_resched();
			if (signal_pending(current))
				return -EINTR;
			beyond_ns = 0;
		}
		count = hostmark_next_slice(count, took_ns);
	} while (batch->operations < request->operations &&
		 batch->ns + beyond_ns < most_ns);
	return 0;
}

int hostmark_batch_run(struct hostmark_work *work, struct hostmark_batch *batch)
{
	bool irq_off = work->request->flags & HOSTMARK_IRQ_OFF;
	u64 most_ns = work->request->most_ns;
	unsigned long flags;
	int error;

	if (!most_ns)
		most_ns = irq_off ? HOSTMARK_MOST_NS_IRQ_OFF : HOSTMARK_MOST_NS;
	if (!irq_off)
		return hostmark_slices(work, most_ns, false, batch);
	local_irq_save(flags);
	error = hostmark_slices(work, most_ns, true, batch);
	local_irq_restore(flags);
	return error;
}

// SPDX-License-Identifier: GPL-2.0
/* Whether a request is well formed: said before anything of it is done. */

#include <linux/errno.h>
#include <linux/log2.h>

#include "hostmark.h"

bool hostmark_is_file(u32 operation)
{
	return operation == HOSTMARK_FILE_READ || operation == HOSTMARK_FILE_WRITE;
}

bool hostmark_is_random(u32 operation)
{
	return operation == HOSTMARK_RANDOM_READ || operation == HOSTMARK_RANDOM_WRITE;
}

int hostmark_request_fit(const struct hostmark_request *request)
{
	bool irq_off = request->flags & HOSTMARK_IRQ_OFF;

	if (request->version != HOSTMARK_VERSION || request->reserved ||
	    request->operation > HOSTMARK_RANDOM_WRITE ||
	    request->flags & ~HOSTMARK_IRQ_OFF)
		return -EINVAL;
	if (!request->batches || request->batches > HOSTMARK_MOST_BATCHES)
		return -EINVAL;
	if (!request->operations || request->operations > HOSTMARK_MOST_OPERATIONS)
		return -EINVAL;
	if (request->most_ns > (irq_off ? HOSTMARK_MOST_NS_IRQ_OFF : HOSTMARK_MOST_NS))
		return -EINVAL;
	if (hostmark_is_random(request->operation)) {
		if (!is_power_of_2(request->bytes) ||
		    request->bytes < HOSTMARK_LEAST_BYTES ||
		    request->bytes > HOSTMARK_MOST_BYTES)
			return -EINVAL;
	} else if (request->bytes || request->seed) {
		return -EINVAL;
	}
	if (!hostmark_is_file(request->operation))
		return request->file == -1 ? 0 : -EINVAL;
	/* A file may wait for its disk, whose interrupt would never come. */
	return irq_off ? -EOPNOTSUPP : 0;
}

// SPDX-License-Identifier: GPL-2.0
/* /dev/hostmark: who may open it, and how a request goes through. */

#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "hostmark.h"

/* The same for programs of 32 bits: each field lies where it is aligned. */
static_assert(sizeof(struct hostmark_request) == 72);
static_assert(sizeof(struct hostmark_batch) == 24);

static int hostmark_open(struct inode *inode, struct file *file)
{
	struct hostmark_opened *opened;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	opened = kzalloc(sizeof(*opened), HOSTMARK_GFP);
	if (!opened)
		return -ENOMEM;
	mutex_init(&opened->one);
	file->private_data = opened;
	return nonseekable_open(inode, file);
}

static int hostmark_release(struct inode *inode, struct file *file)
{
	struct hostmark_opened *opened = file->private_data;

	hostmark_memory_drop(opened);
	mutex_destroy(&opened->one);
	kfree(opened);
	return 0;
}

/* Batch after batch; `filled` of them are the caller's already. */
static int hostmark_batches(struct hostmark_work *work, u32 *filled)
{
	struct hostmark_batch __user *to = u64_to_user_ptr(work->request->batch);
	struct hostmark_batch batch;
	int error;

	for (*filled = 0; *filled < work->request->batches; (*filled)++) {
		cond_resched();
		if (signal_pending(current))
			return -EINTR;
		error = hostmark_batch_run(work, &batch);
		if (error)
			return error;
		if (copy_to_user(&to[*filled], &batch, sizeof(batch)))
			return -EFAULT;
	}
	return 0;
}

/* Gets what the operation needs; what there is, hostmark_put() gives back. */
static int hostmark_get(struct hostmark_work *work, struct hostmark_opened *opened)
{
	const struct hostmark_request *request = work->request;
	void __user *to = u64_to_user_ptr(request->batch);
	int error;

	if (hostmark_is_file(request->operation)) {
		error = hostmark_file_get(request, &work->file);
		if (error)
			return error;
	}
	/* Whether results can be had is known before there are any. */
	if (clear_user(to, array_size(request->batches, sizeof(struct hostmark_batch))))
		return -EFAULT;
	if (hostmark_is_file(request->operation))
		return hostmark_file_page(work);
	if (request->operation == HOSTMARK_SIEVE) {
		work->composite = __vmalloc(array_size(HOSTMARK_SIEVE_WORDS, sizeof(u64)),
					    HOSTMARK_GFP | __GFP_ZERO);
		return work->composite ? 0 : -ENOMEM;
	}
	if (!hostmark_is_random(request->operation))
		return 0;
	error = hostmark_memory_have(opened, request->bytes);
	if (!error)
		work->places = hostmark_memory_places(opened, request->seed);
	return error;
}

static void hostmark_put(struct hostmark_work *work)
{
	vfree(work->composite);
	free_page((unsigned long)work->page);
	if (work->file)
		fput(work->file);
}

static int hostmark_do(struct hostmark_opened *opened, struct hostmark_request *request)
{
	struct hostmark_work work = { .request = request };
	u32 filled = 0;
	int error;

	error = hostmark_get(&work, opened);
	if (!error)
		error = hostmark_batches(&work, &filled);
	hostmark_put(&work);
	/* A signal ends a request with what is done, if anything is. */
	if (error == -EINTR && filled)
		error = 0;
	request->batches = filled;
	request->check = work.primes;
	return error;
}

static long hostmark_ioctl(struct file *file, unsigned int command, unsigned long address)
{
	struct hostmark_request __user *from = (struct hostmark_request __user *)address;
	struct hostmark_opened *opened = file->private_data;
	struct hostmark_request request;
	int error;

	if (command != HOSTMARK_RUN)
		return -ENOTTY;
	if (copy_from_user(&request, from, sizeof(request)))
		return -EFAULT;
	error = hostmark_request_fit(&request);
	if (error)
		return error;
	if (mutex_lock_interruptible(&opened->one))
		return -EINTR;
	error = hostmark_do(opened, &request);
	mutex_unlock(&opened->one);
	if (error)
		return error;
	return copy_to_user(from, &request, sizeof(request)) ? -EFAULT : 0;
}

static const struct file_operations hostmark_calls = {
	.owner = THIS_MODULE,
	.open = hostmark_open,
	.release = hostmark_release,
	.unlocked_ioctl = hostmark_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice hostmark_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hostmark",
	.fops = &hostmark_calls,
	.mode = 0600,
};

module_misc_device(hostmark_device);

MODULE_DESCRIPTION("Times files, CPU and memory from inside the kernel, for hostmark");
MODULE_AUTHOR("The hostmark project");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(HOSTMARK_VERSION));

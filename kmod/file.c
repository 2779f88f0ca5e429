// SPDX-License-Identifier: GPL-2.0
/* Reads and writes of 4 KiB at the start of a file that the caller opened. */

#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "hostmark.h"

/*
 * Whether it is what can be measured, and can take no harm beyond its first
 * 4 KiB: a regular file of a real file system, at least so long, through the
 * page cache.
 */
static int hostmark_file_fit(struct file *file, u32 operation)
{
	const struct inode *inode = file_inode(file);
	bool is_write = operation == HOSTMARK_FILE_WRITE;
	const struct file_operations *calls = file->f_op;

	if (!(file->f_mode & (is_write ? FMODE_WRITE : FMODE_READ)))
		return -EBADF;
	if (!S_ISREG(inode->i_mode) || i_size_read(inode) < HOSTMARK_FILE_BYTES)
		return -EINVAL;
	if (file->f_flags & (O_APPEND | O_DIRECT) || IS_APPEND(inode))
		return -EINVAL;
	if (is_write && file->f_flags & (O_DSYNC | __O_SYNC))
		return -EINVAL;
	/* /proc, /sys and their like: a write there is a command. */
	if (inode->i_sb->s_iflags & SB_I_NOEXEC)
		return -EINVAL;
	/* What kernel_read() and kernel_write() would refuse, and log. */
	if (is_write ? !calls->write_iter || calls->write : !calls->read_iter || calls->read)
		return -EINVAL;
	return 0;
}

int hostmark_file_get(const struct hostmark_request *request, struct file **file)
{
	int error;

	/* fget() takes no descriptor that was opened with O_PATH. */
	*file = request->file < 0 ? NULL : fget(request->file);
	if (!*file)
		return -EBADF;
	error = hostmark_file_fit(*file, request->operation);
	if (error) {
		fput(*file);
		*file = NULL;
	}
	return error;
}

/* Gives a page, of which no word is zero. */
int hostmark_file_page(struct hostmark_work *work)
{
	u64 *words = (u64 *)__get_free_page(HOSTMARK_GFP);
	u64 index;

	if (!words)
		return -ENOMEM;
	for (index = 0; index < HOSTMARK_FILE_BYTES / sizeof(*words); index++)
		words[index] = (index + 1) * 0x9e3779b97f4a7c15ULL;
	work->page = words;
	return 0;
}

int hostmark_file_once(struct hostmark_work *work)
{
	loff_t at = 0;
	ssize_t moved;

	if (work->request->operation == HOSTMARK_FILE_WRITE)
		moved = kernel_write(work->file, work->page, HOSTMARK_FILE_BYTES, &at);
	else
		moved = kernel_read(work->file, work->page, HOSTMARK_FILE_BYTES, &at);
	switch (moved) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		/* A signal ends a request: nothing begins it anew. */
		return -EINTR;
	}
	if (moved < 0)
		return moved;
	return moved == HOSTMARK_FILE_BYTES ? 0 : -EIO;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Counts, for each process, the bytes that its calls moved and the bytes that the kernel copied for it from and to its
 * memory, where the kernel does so: by probes on the functions that copy, none of which calls another of them. It is for
 * an emulated machine that is thrown away: it counts every process, and nobody may unload it.
 *
 * /proc/copies has a line for each process: its number, its parent's, what read, write, splice and sendfile moved, what was
 * copied from and to its memory, what was zeroed there, and what pages lent to a socket were copied inside the kernel after all.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#define PROCESSES 32768

enum column { READS, WRITES, SPLICES, SENDFILES, FROM_USER, TO_USER, ZEROED, LENT, COLUMNS };

struct process {
	int parent;
	atomic64_t bytes[COLUMNS];
};

static struct process *processes;
/* Who lent pages last: they are copied by whom the network's interrupt finds. */
static int lender;

/* Where a function has what tells whether the memory is a process's, and what its result means. */
enum means { RESULT, RESULT_AT_ITER_1, RESULT_AT_ITER_2, RESULT_AT_ITER_3, LEFT_OF_ARGUMENT_2, LENDS, FRAGMENTS };

struct counted {
	struct kretprobe probe;
	enum column column;
	enum means means;
};

static unsigned long argument(struct pt_regs *regs, int which)
{
	return regs_get_kernel_argument(regs, which);
}

/* Bytes that stay the caller's own while the packet goes on. */
static u64 lent(struct sk_buff *skb)
{
	u64 bytes = 0;
	int fragment;

	if (skb_zcopy(skb))
		for (fragment = 0; fragment < skb_shinfo(skb)->nr_frags; fragment++)
			bytes += skb_frag_size(&skb_shinfo(skb)->frags[fragment]);
	return bytes;
}

static int enter(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct counted *counted = container_of(get_kretprobe(instance), struct counted, probe);
	u64 *data = (u64 *)instance->data;
	int at = counted->means - RESULT_AT_ITER_1 + 1;

	switch (counted->means) {
	case RESULT:
		return 0;
	case LEFT_OF_ARGUMENT_2:
		*data = argument(regs, 2);
		return 0;
	case LENDS:
		lender = task_tgid_nr(current);
		return 1;
	case FRAGMENTS:
		*data = lent((struct sk_buff *)argument(regs, 0));
		return *data == 0;
	default:
		return !user_backed_iter((struct iov_iter *)argument(regs, at));
	}
}

static int leave(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct counted *counted = container_of(get_kretprobe(instance), struct counted, probe);
	bool is_lent = counted->means == FRAGMENTS;
	struct process *process = &processes[(is_lent ? lender : task_tgid_nr(current)) % PROCESSES];
	s64 bytes = regs_return_value(regs);

	if (counted->means == LEFT_OF_ARGUMENT_2)
		bytes = *(u64 *)instance->data - bytes;
	else if (is_lent)
		bytes = bytes ? 0 : *(u64 *)instance->data;
	if (bytes > 0) {
		if (!is_lent)
			process->parent = task_tgid_nr(rcu_dereference_raw(current->real_parent));
		atomic64_add(bytes, &process->bytes[counted->column]);
	}
	return 0;
}

#define COUNTED(name, into, result) {                                                                 \
	.probe = { .kp.symbol_name = name, .entry_handler = enter, .handler = leave, .data_size = 8, .maxactive = 256 }, \
	.column = into, .means = result }

static struct counted all[] = {
	COUNTED("__x64_sys_read", READS, RESULT),
	COUNTED("__x64_sys_recvfrom", READS, RESULT),
	COUNTED("__x64_sys_recvmsg", READS, RESULT),
	COUNTED("__x64_sys_write", WRITES, RESULT),
	COUNTED("__x64_sys_sendto", WRITES, RESULT),
	COUNTED("__x64_sys_sendmsg", WRITES, RESULT),
	COUNTED("__x64_sys_splice", SPLICES, RESULT),
	COUNTED("__x64_sys_sendfile64", SENDFILES, RESULT),
	COUNTED("_copy_from_iter", FROM_USER, RESULT_AT_ITER_2),
	COUNTED("_copy_from_iter_nocache", FROM_USER, RESULT_AT_ITER_2),
	COUNTED("copy_page_from_iter_atomic", FROM_USER, RESULT_AT_ITER_3),
	COUNTED("_copy_from_user", FROM_USER, LEFT_OF_ARGUMENT_2),
	COUNTED("_copy_to_iter", TO_USER, RESULT_AT_ITER_2),
	COUNTED("_copy_to_user", TO_USER, LEFT_OF_ARGUMENT_2),
	COUNTED("read_zero", ZEROED, RESULT),
	COUNTED("iov_iter_zero", ZEROED, RESULT_AT_ITER_1),
	COUNTED("skb_zerocopy_iter_stream", LENT, LENDS),
	COUNTED("skb_copy_ubufs", LENT, FRAGMENTS),
	/* Not in every kernel. */
	COUNTED("csum_and_copy_from_iter", FROM_USER, RESULT_AT_ITER_3),
	COUNTED("csum_and_copy_to_iter", TO_USER, RESULT_AT_ITER_3),
	COUNTED("csum_and_copy_from_iter_full", FROM_USER, RESULT_AT_ITER_3),
};

static int show(struct seq_file *file, void *unused)
{
	int number, column, which;

	for (number = 0; number < PROCESSES; number++) {
		struct process *process = &processes[number];

		if (!process->parent)
			continue;
		seq_printf(file, "process %d %d", number, process->parent);
		for (column = 0; column < COLUMNS; column++)
			seq_printf(file, " %lld", atomic64_read(&process->bytes[column]));
		seq_putc(file, '\n');
	}
	for (which = 0; which < ARRAY_SIZE(all); which++)
		if (all[which].probe.nmissed || all[which].probe.kp.nmissed)
			seq_printf(file, "missed %s %d %lu\n", all[which].probe.kp.symbol_name, all[which].probe.nmissed,
				   all[which].probe.kp.nmissed);
	return 0;
}

static int __init begin(void)
{
	int which, status;

	processes = vzalloc(array_size(PROCESSES, sizeof(*processes)));
	if (!processes)
		return -ENOMEM;
	for (which = 0; which < ARRAY_SIZE(all); which++) {
		status = register_kretprobe(&all[which].probe);
		pr_info("copies: %s: %d\n", all[which].probe.kp.symbol_name, status);
	}
	proc_create_single("copies", 0400, NULL, show);
	return 0;
}
module_init(begin);

MODULE_DESCRIPTION("Counts the bytes copied from and to each process's memory");
MODULE_LICENSE("GPL");

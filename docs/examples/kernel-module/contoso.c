// SPDX-License-Identifier: MIT OR GPL-2.0
/* contoso.c - a kernel module that is a provider: what a driver does with EtwRegister, EtwWrite and EtwUnregister on Windows.
 *
 *   echo 100 >/sys/module/contoso/parameters/requests   100 events contoso_request, by the process that writes
 *   echo 20 >/sys/module/contoso/parameters/ticks       20 events contoso_tick, by a kernel thread, on a timer
 *
 * With say=1 the module prints each event to the kernel log, too: a trace can be compared with it. */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#define CREATE_TRACE_POINTS
#include "contoso_trace.h"

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A provider in the kernel: the sample of autologger");

static bool say;
module_param(say, bool, 0644);
MODULE_PARM_DESC(say, "print each event to the kernel log");

static uint period_ms = 10;
module_param(period_ms, uint, 0644);
MODULE_PARM_DESC(period_ms, "milliseconds from one contoso_tick to the next");

static uint fired_requests, fired_ticks;
module_param(fired_requests, uint, 0444);
MODULE_PARM_DESC(fired_requests, "events contoso_request up to now, recorded or not");
module_param(fired_ticks, uint, 0444);
MODULE_PARM_DESC(fired_ticks, "events contoso_tick up to now, recorded or not");

static bool listening;
module_param(listening, bool, 0444);
MODULE_PARM_DESC(listening, "a session takes contoso_request now");

/* The enable callback: the kernel calls it in the context of the program that opens the first perf event of this tracepoint. */
int contoso_listen(void)
{
	listening = true;
	return 0;
}

void contoso_unlisten(void)
{
	listening = false;
}

static void fire_request(u32 number)
{
	struct contoso_request r = {
		.number = number,
		.bytes = (u64)number * 0x100000001ull,
		.result = number % 3 ? 0 : -(int)number,
		.tag = { number, number >> 8, 0xC0, 0xDE },
	};

	/* EtwEventEnabled: what only the event needs is made only when a session wants it. */
	if (!say && !trace_contoso_request_enabled())
		return;
	snprintf(r.queue, sizeof(r.queue), "queue-%u", number % 7);
	trace_contoso_request(&r); /* EtwWrite */
	if (say)
		pr_info("contoso_request number=%u bytes=%llu result=%d tag=%*phN queue=%s pid=%d\n", r.number, r.bytes, r.result,
			(int)sizeof(r.tag), r.tag, r.queue, current->tgid);
}

static DEFINE_MUTEX(firing);

static int fire_requests(const char *text, const struct kernel_param *kp)
{
	uint count, i;
	int wrong = kstrtouint(text, 0, &count);

	if (wrong)
		return wrong;
	mutex_lock(&firing);
	for (i = 0; i < count; i++)
		fire_request(++fired_requests);
	mutex_unlock(&firing);
	return 0;
}

static const struct kernel_param_ops request_ops = { .set = fire_requests };
module_param_cb(requests, &request_ops, NULL, 0200);
MODULE_PARM_DESC(requests, "fire so many events contoso_request now");

static uint ticks_left;
static void tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(ticker, tick);

static void tick(struct work_struct *work)
{
	s64 now = ktime_to_ns(ktime_get());

	trace_contoso_tick(++fired_ticks, now);
	if (say)
		pr_info("contoso_tick number=%u now=%lld pid=4\n", fired_ticks, now); /* autologger counts kernel threads as process 4 */
	if (--ticks_left)
		schedule_delayed_work(&ticker, msecs_to_jiffies(period_ms));
}

static int fire_ticks(const char *text, const struct kernel_param *kp)
{
	uint count;
	int wrong = kstrtouint(text, 0, &count);

	if (wrong)
		return wrong;
	mutex_lock(&firing);
	cancel_delayed_work_sync(&ticker);
	ticks_left = count;
	if (count)
		schedule_delayed_work(&ticker, msecs_to_jiffies(period_ms));
	mutex_unlock(&firing);
	return 0;
}

static const struct kernel_param_ops tick_ops = { .set = fire_ticks };
module_param_cb(ticks, &tick_ops, NULL, 0200);
MODULE_PARM_DESC(ticks, "fire so many events contoso_tick, one each period_ms, by a kernel thread");

/* There is no EtwRegister to call: the kernel makes the tracepoints known when it loads the module. */
static int __init contoso_init(void)
{
	return 0;
}

/* Nor an EtwUnregister: a session that takes the tracepoints keeps the module loaded until it stops. */
static void __exit contoso_exit(void)
{
	cancel_delayed_work_sync(&ticker);
}

module_init(contoso_init);
module_exit(contoso_exit);

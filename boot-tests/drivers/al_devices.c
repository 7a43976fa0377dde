// SPDX-License-Identifier: MIT
/* al_devices.c - devices for tests of how drivers take devices, each with a driver of its own name:
 *   al-slow      sleeps for slow_ms
 *   al-busy      keeps a processor for busy_ms
 *   al-failing   fails with EIO
 *   al-defer     is put off defer_times times: "clock not there yet (%d)"; then it is /dev/al-defer
 *   al-firmware  asks for a file that no system has
 *   al-consumer  needs al-supplier, whose driver is in al_supplier.ko; then it is /dev/al-consumer
 * Parameters: which=NAME,NAME (default: all), slow_ms, busy_ms, defer_times. Writing to the parameter retry: another device comes, so that the kernel tries again. */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static char *which = "al-slow,al-busy,al-failing,al-defer,al-firmware,al-consumer";
static int   slow_ms = 300, busy_ms = 50, defer_times = 2;
module_param(which, charp, 0444);
module_param(slow_ms, int, 0444);
module_param(busy_ms, int, 0444);
module_param(defer_times, int, 0444);

static const struct file_operations nothing = { .owner = THIS_MODULE };
static struct miscdevice deferred = { .minor = MISC_DYNAMIC_MINOR, .name = "al-defer", .fops = &nothing };
static struct miscdevice consumer = { .minor = MISC_DYNAMIC_MINOR, .name = "al-consumer", .fops = &nothing };

/* The file in /dev goes with the device. */
static void file_remove(void *file)
{
	misc_deregister(file);
}

static int file_add(struct platform_device *d, struct miscdevice *file)
{
	int error = misc_register(file);

	return error ? error : devm_add_action_or_reset(&d->dev, file_remove, file);
}

static int slow_probe(struct platform_device *d)
{
	dev_warn(&d->dev, "does not answer yet\n");
	msleep(slow_ms);
	return 0;
}

static int busy_probe(struct platform_device *d)
{
	u64 until = ktime_get_ns() + (u64)busy_ms * 1000000;

	while (ktime_get_ns() < until)
		cpu_relax();
	return 0;
}

static int failing_probe(struct platform_device *d)
{
	return -EIO;
}

static int defer_probe(struct platform_device *d)
{
	static int times;

	if (times++ < defer_times)
		return dev_err_probe(&d->dev, -EPROBE_DEFER, "clock not there yet (%d)\n", times);
	return file_add(d, &deferred);
}

static int firmware_probe(struct platform_device *d)
{
	const struct firmware *f;

	if (request_firmware(&f, "al-none.bin", &d->dev) == 0)
		release_firmware(f);
	return 0;
}


static int consumer_probe(struct platform_device *d)
{
	return file_add(d, &consumer);
}

/* One that is taken: the kernel tries again all that it had put off. */
static int kick_probe(struct platform_device *d)
{
	return 0;
}

#define DRIVER(word, text) static struct platform_driver word##_driver = { .probe = word##_probe, .driver = { .name = text } };
DRIVER(slow, "al-slow")
DRIVER(busy, "al-busy")
DRIVER(failing, "al-failing")
DRIVER(defer, "al-defer")
DRIVER(firmware, "al-firmware")
DRIVER(consumer, "al-consumer")
DRIVER(kick, "al-kick")

static struct {
	struct platform_driver *driver;
	struct platform_device *device;
	bool registered;
} all[] = { { &defer_driver }, { &slow_driver }, { &busy_driver }, { &failing_driver }, { &firmware_driver }, { &consumer_driver } };
static struct platform_device *supplier;
static struct platform_device *kicks[64];
static unsigned int kicked;

static int retry(const char *value, const struct kernel_param *p)
{
	if (kicked == ARRAY_SIZE(kicks))
		return -ENOSPC;
	kicks[kicked] = platform_device_register_simple("al-kick", kicked, NULL, 0);
	if (IS_ERR(kicks[kicked]))
		return PTR_ERR(kicks[kicked]);
	kicked++;
	return 0;
}
static const struct kernel_param_ops retry_ops = { .set = retry };
module_param_cb(retry, &retry_ops, NULL, 0200);

static bool is_wanted(const char *name)
{
	const char *p = strstr(which, name);

	return p && (p == which || p[-1] == ',') && (!p[strlen(name)] || p[strlen(name)] == ',');
}

static int __init devices_begin(void)
{
	unsigned int i;

	platform_driver_register(&kick_driver);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		const char *name = all[i].driver->driver.name;

		if (!is_wanted(name))
			continue;
		all[i].device = platform_device_alloc(name, PLATFORM_DEVID_NONE);
		if (!all[i].device)
			continue;
		if (all[i].driver == &consumer_driver)
			supplier = platform_device_register_simple("al-supplier", PLATFORM_DEVID_NONE, NULL, 0);
		platform_device_add(all[i].device);
		if (all[i].driver == &consumer_driver && !IS_ERR_OR_NULL(supplier))
			device_link_add(&all[i].device->dev, &supplier->dev, DL_FLAG_AUTOREMOVE_SUPPLIER);
		all[i].registered = platform_driver_register(all[i].driver) == 0;
	}
	return 0;
}

static void __exit devices_end(void)
{
	unsigned int i;

	for (i = ARRAY_SIZE(all); i-- > 0;) {
		if (all[i].registered)
			platform_driver_unregister(all[i].driver);
		if (all[i].device)
			platform_device_unregister(all[i].device);
	}
	if (!IS_ERR_OR_NULL(supplier))
		platform_device_unregister(supplier);
	for (i = 0; i < kicked; i++)
		platform_device_unregister(kicks[i]);
	platform_driver_unregister(&kick_driver);
}

module_init(devices_begin);
module_exit(devices_end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("devices for tests of autologger");

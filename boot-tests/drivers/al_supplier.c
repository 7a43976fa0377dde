// SPDX-License-Identifier: MIT
/* al_supplier.c - the driver of al-supplier, which al-consumer of al_devices.ko needs. Parameter: supplier_ms, how long it takes for it. */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static int supplier_ms;
module_param(supplier_ms, int, 0444);

static int supplier_probe(struct platform_device *d)
{
	msleep(supplier_ms);
	return 0;
}

static struct platform_driver supplier_driver = { .probe = supplier_probe, .driver = { .name = "al-supplier" } };
module_platform_driver(supplier_driver);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("a driver for tests of autologger");

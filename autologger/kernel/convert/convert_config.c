/* convert_config.c - events of the system configuration: sysconfig.h makes them complete, here they get their headers.
 * See convert.h. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/source/bootenv.h"
#include "autologger/wire/etl.h"

#include <string.h>

/* clang-format off */
static const struct shape convert_config_shapes[BOOTENV_EVENTS] = {
    [BOOTENV_TIMES] = {BOOTENV_PROVIDER, BOOTENV_TIMES_NAME,
                       {{"FirmwareNs", SHAPE_UINT64}, {"LoaderNs", SHAPE_UINT64}, {"Source", SHAPE_TEXT},
                        {"LoaderInitNs", SHAPE_UINT64},
                        {"LoaderMenuNs", SHAPE_UINT64}, {"LoaderExecNs", SHAPE_UINT64},
                         {"FpdtResetEndNs", SHAPE_UINT64},
                        {"FpdtLoaderLoadNs", SHAPE_UINT64}, {"FpdtLoaderLaunchNs", SHAPE_UINT64},
                        {"FpdtExitBootServicesStartNs", SHAPE_UINT64}, {"FpdtExitBootServicesEndNs", SHAPE_UINT64}}},
    [BOOTENV_LOADER] = {BOOTENV_PROVIDER, "BootLoader",
                        {{"Name", SHAPE_TEXT}, {"Firmware", SHAPE_TEXT}, {"FirmwareKind", SHAPE_TEXT},
                         {"SecureBoot", SHAPE_TEXT}}},
    [BOOTENV_KERNEL] = {BOOTENV_PROVIDER, "BootKernel",
                        {{"Release", SHAPE_TEXT}, {"Build", SHAPE_TEXT}, {"CommandLine", SHAPE_TEXT},
                         {"ClockSource", SHAPE_TEXT},
                         {"Lockdown", SHAPE_TEXT}, {"Hypervisor", SHAPE_TEXT}, {"HypervisorId", SHAPE_TEXT},
                          {"Initramfs", SHAPE_TEXT}}},
};
/* clang-format on */

void convert_config(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_config r;
    uint64_t          time = convert_time(c, raw);
    const uint8_t    *body = record + sizeof r;
    if (size < sizeof r)
        return;
    memcpy(&r, record, sizeof r);
    if (r.body_size > size - sizeof r || r.body_size > SCRATCH)
        return;
    if (r.disk_at != RAW_NO_DISK && r.disk_at + sizeof(uint32_t) <= r.body_size) {
        uint32_t number = disk_number(c, r.dev);
        memcpy(c->scratch, body, r.body_size);
        memcpy(c->scratch + r.disk_at, &number, sizeof number);
        body = c->scratch;
    }
    const struct writer payload = {.data = (uint8_t *)(uintptr_t)body, .size = r.body_size, .pos = r.body_size};
    if (r.header == ETL_EVENT64 && r.hook < BOOTENV_EVENTS)
        describe_at(c, &(struct actor){0}, &convert_config_shapes[r.hook], &time, &payload);
    else if (r.header == ETL_FULL64)
        emit_system_ex(c, (uint8_t)r.hook, &time, body, r.body_size);
    else if (r.header == ETL_SYSTEM64 || r.header == ETL_PERFINFO64)
        emit(c, &(struct event){0, r.hook, r.header, r.version, 0, 0}, &time, body, r.body_size);
}

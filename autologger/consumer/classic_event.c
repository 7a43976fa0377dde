#include "autologger/consumer/classic_event.h"

#include "autologger/schema/classic.h"
#include "autologger/schema/text.h"
#include "registry-sim/base/cursor.h"

#include <string.h>

#define VOLUME "\\Device\\HarddiskVolume1\\"

/* The kernel logger's "\Device\HarddiskVolume1\usr\lib" -> "/usr/lib"; other names stay. */
static void path_of_linux(char *path)
{
    size_t volume = strlen(VOLUME);

    if (strncmp(path, VOLUME, volume) != 0)
        return;
    memmove(path, path + volume - 1, strlen(path) - volume + 2);
    for (char *p = path; *p; p++)
        if (*p == '\\')
            *p = '/';
}

bool image_event_read(const struct etl_event *e, struct image_fields *out)
{
    uint16_t hook = classic_hook(e);

    if ((hook != HOOK_IMAGE_LOAD && hook != HOOK_IMAGE_UNLOAD && hook != HOOK_IMAGE_DC_START &&
         hook != HOOK_IMAGE_DC_END) ||
        !e->is_64bit || e->version < 2)
        return false;
    struct cursor c = cur_make(e->payload, e->payload_size);
    *out            = (struct image_fields){.base = cur_u64(&c)};
    out->size       = cur_u64(&c);
    out->process_id = cur_u32(&c);
    out->checksum   = cur_u32(&c);
    out->stamp      = cur_u32(&c);
    cur_take(&c, 56 - 28);
    if (!cur_ok(&c))
        return false;
    struct text path = {0};
    size_t      n    = 0;
    while (n + 1 < cur_left(&c) && (e->payload[c.pos + n] || e->payload[c.pos + n + 1]))
        n += 2;
    text_utf16(&path, e->payload + c.pos, n);
    bool fits = path.length < sizeof out->path && !path.failed;
    if (fits)
        memcpy(out->path, text_get(&path), path.length + 1);
    text_finish(&path);
    path_of_linux(out->path);
    return fits;
}

const char *image_base_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    if (back > slash)
        slash = back;
    return slash && slash[1] ? slash + 1 : path;
}

bool stack_event_read(const struct etl_event *e, struct stack_fields *out)
{
    uint16_t      hook = classic_hook(e);
    struct cursor c    = cur_make(e->payload, e->payload_size);

    *out = (struct stack_fields){0};
    if (!e->is_64bit)
        return false;
    if (hook == HOOK_STACK_WALK) {
        out->trigger    = (int64_t)cur_u64(&c);
        out->process_id = cur_u32(&c);
        out->thread_id  = cur_u32(&c);
    } else if (hook >= HOOK_STACK_KEY_CREATE && hook <= HOOK_STACK_KEY_RUNDOWN) {
        cur_u64(&c);
    } else {
        return false;
    }
    out->count  = (unsigned)(cur_left(&c) / 8);
    out->frames = e->payload + c.pos;
    return cur_ok(&c);
}

uint64_t stack_frame(const struct stack_fields *stack, unsigned i)
{
    uint64_t address;
    memcpy(&address, stack->frames + i * 8ul, sizeof address);
    return address;
}

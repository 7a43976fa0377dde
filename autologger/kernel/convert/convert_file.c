/* convert_file.c - file operations, from filetap.bpf.c's records at the beginning and the end of system calls: FileIo
 * events and the names of files. See convert.h.
 *   FileObject: one open file (the kernel's struct file): assigned at its open; the kernel's address if it was opened
 *     before the trace.
 *   FileKey: the file, by device and inode; for a file never seen open, made from its name.
 *   Irp: one operation, from its beginning to its end. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/filekey.h"
#include "autologger/kernel/source/filetap_record.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_INIT  = 0x04000000,
    FILE_END   = 0x02000000,
    CALLS_MAX  = 1 << 20,
    NAMES_MAX  = 1 << 18,
    PATH_BYTES = TAP_TEXT + 64
};
enum { /* FILE_INFORMATION_CLASS of Windows */
       FileDirectoryInformation    = 1,
       FileBasicInformation        = 4,
       FileAccessInformation       = 8,
       FileRenameInformation       = 10,
       FileLinkInformation         = 11,
       FileDispositionInformation  = 13,
       FileAllInformation          = 18,
       FileAllocationInformation   = 19,
       FileEndOfFileInformation    = 20,
       FileReparsePointInformation = 33
};
enum file_kind {
    FILE_CREATE,
    FILE_CLEANUP,
    FILE_READ,
    FILE_WRITE,
    FILE_FLUSH,
    FILE_DIRENUM,
    FILE_SETINFO,
    FILE_DELETE,
    FILE_RENAME,
    FILE_LINK,
    FILE_MAKE,
    FILE_FOLDER,
    FILE_QUERY,
    FILE_FSCONTROL
};
struct file_call_row {
    uint8_t  kind, flags;
    int8_t   amount, offset;
    uint16_t info;
};
static const struct file_call_row convert_file_rows[] = {
#define CALL(row, number, kind, fd, path, dir, path2, dir2, flags, amount, offset, info) \
    {FILE_##kind, flags, amount, offset, info},
#include "autologger/kernel/source/filecalls.def"
#include "registry-sim/base/unset.h"
#undef CALL
};
enum { ROWS = sizeof convert_file_rows / sizeof *convert_file_rows };

struct file_object {
    uint64_t object, key;
};
struct file_op { /* between its beginning and its end */
    uint32_t tid;
    uint8_t  row, flags; /* of struct tap_record */
    uint16_t text_bytes; /* of the new name of a rename, after the struct */
    uint64_t irp, object, key, file;
    char     text[];
};
struct part_file {
    struct idmap op;     /* thread -> struct file_op */
    struct idmap object; /* struct file -> struct file_object */
    struct idmap named;  /* hash of a path -> key of the last file seen under that name */
    uint64_t     next_object;
    char         path[2][PATH_BYTES];
};

static struct part_file *convert_file_part(struct convert *c)
{
    if (!c->file)
        c->file = calloc(1, sizeof *c->file);
    return c->file;
}

static void convert_file_values_free(struct idmap *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slot[i].value);
    idmap_finish(map);
}

void part_file_finish(struct convert *c)
{
    if (!c->file)
        return;
    convert_file_values_free(&c->file->op);
    convert_file_values_free(&c->file->object);
    idmap_finish(&c->file->named);
    free(c->file);
    c->file = NULL;
}

/* ---- a record ---- */

struct tapped {
    struct tap_record head;
    const char       *text[TAP_TEXTS];
}; /* only the head of the record is filled */

/* False when the record is damaged. Texts end in NUL. */
static bool record_parse(const struct sample *s, struct tapped *t)
{
    struct cursor cur = cur_make(s->raw, s->raw_size);
    cur_copy(&cur, &t->head, TAP_HEAD);
    for (unsigned i = 0; i < TAP_TEXTS; i++) {
        const char *p = cur_take(&cur, t->head.text_bytes[i]);
        t->text[i]    = t->head.text_bytes[i] ? p : NULL;
        if (t->text[i] && p[t->head.text_bytes[i] - 1])
            return false;
    }
    return cur_ok(&cur) && t->head.call && t->head.call <= ROWS;
}

/* "leaf NUL ... NUL below the root NUL" -> "/below the root/.../leaf"; returns the length. */
static size_t names_join(const char *names, size_t bytes, char *out, size_t size)
{
    size_t n = 0;
    for (size_t end = bytes; end > 0;) {
        size_t begin = end - 1; /* at the NUL */
        while (begin > 0 && names[begin - 1])
            begin--;
        if (n + 1 + (end - 1 - begin) + 1 >= size)
            break;
        out[n++] = '/';
        memcpy(out + n, names + begin, end - 1 - begin);
        n += end - 1 - begin;
        end = begin;
    }
    out[n] = 0;
    return n;
}

/* A path argument as a full path; NULL when it is not known. */
static const char *convert_file_path_of(struct part_file *p, const struct tapped *t, unsigned which, unsigned buffer)
{
    const char *path = t->text[which];
    char       *out  = p->path[buffer];
    if (!path || !*path || *path == '/')
        return path && *path ? path : NULL;
    size_t n =
        t->text[which + 1] ? names_join(t->text[which + 1], t->head.text_bytes[which + 1], out, PATH_BYTES / 2) : 0;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    out[n++] = '/';
    memcpy(out + n, path, strlen(path) + 1); /* PATH_BYTES is more than all texts */
    return out;
}

/* ---- events ---- */

static uint64_t text_hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return h;
}

/* The key of the last file seen under that name; else one made from the name. */
static uint64_t key_of_name(const struct convert *c, const char *name)
{
    uint64_t    hash = text_hash(name), key = (uint64_t)(uintptr_t)idmap_get(&c->file->named, hash);
    const char *text = file_name_text(c, key);
    return text && strcmp(text, name) == 0 ? key : (hash | UINT64_C(1) << 63) & ~UINT64_C(15);
}

static void name_learn(struct convert *c, const struct sample *s, uint64_t key, const char *name)
{
    struct part_file *p    = c->file;
    uint64_t          time = convert_time(c, s->time), hash = text_hash(name);
    if (!key)
        return;
    file_name_keep(c, key, name);
    file_name_tell(c, s->cpu, key, &time);
    if (p->named.count < NAMES_MAX || idmap_get(&p->named, hash))
        idmap_put(&p->named, hash, (void *)(uintptr_t)key);
}

static void name_lose(struct convert *c, const struct sample *s, uint64_t key)
{
    uint64_t    time = convert_time(c, s->time);
    const char *text = file_name_text(c, key);
    if (text && key == (uint64_t)(uintptr_t)idmap_get(&c->file->named, text_hash(text)))
        idmap_remove(&c->file->named, text_hash(text));
    file_name_forget(c, s->cpu, key, &time);
}

/* An event of the operation; the first one has a stack. */
static void op_event(struct convert *c, const struct sample *s, uint16_t hook, const struct writer *w, bool stack)
{
    uint64_t time = convert_time(c, s->time);
    if (w->bad)
        return;
    emit(c, &(struct event){s->cpu, hook, ETL_PERFINFO64, 3, 0, 0}, &time, w->data, w->pos);
    if (stack && stack_wanted(c, hook))
        emit_stack(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, time, s->chain, s->chain_count);
}

static struct writer op_writer(struct convert *c) { return wr_make(c->scratch, SCRATCH / 2); }

static void ids_put(struct writer *w, const struct file_op *o)
{
    wr_u64(w, o->irp);
    wr_u64(w, o->object);
    wr_u64(w, o->key);
}

static int64_t convert_file_argument(const struct tapped *t, int8_t which)
{
    return which < 0 || which > 5 ? 0 : (int64_t)t->head.arg[which];
}

static uint32_t create_options(uint64_t flags, bool folder)
{
    uint32_t disposition = !(flags & O_CREAT) ? (flags & O_TRUNC ? 4 : 1)
                           : flags & O_EXCL   ? 2
                           : flags & O_TRUNC  ? 5
                                              : 3;
    uint32_t options =
        (folder || (flags & O_DIRECTORY) ? 0x1 : 0) | (flags & O_DSYNC ? 0x2 : 0) | (flags & O_DIRECT ? 0x8 : 0);
    return disposition << 24 | options;
}

static void create_event(struct convert *c, const struct sample *s, const struct tapped *t, const struct file_op *o,
                         const char *path)
{
    enum { SHARE_ALL = 7 };
    const struct file_call_row *row   = &convert_file_rows[o->row];
    uint64_t                    flags = (uint64_t)convert_file_argument(t, row->amount);
    struct writer               w     = op_writer(c);
    if (row->flags & TAP_CALL_HOW)
        flags = t->head.size;
    else if (row->kind != FILE_CREATE)
        flags = O_CREAT | O_EXCL; /* mkdir, mknod, symlink */
    else if (row->amount < 0)
        flags = O_CREAT | O_TRUNC; /* creat */
    wr_u64(&w, o->irp);
    wr_u64(&w, o->object);
    wr_u32(&w, s->tid);
    wr_u32(&w, create_options(flags, row->kind == FILE_FOLDER));
    wr_u32(&w, 0);
    wr_u32(&w, SHARE_ALL);
    wr_path(&w, path ? path : "");
    op_event(c, s, HOOK_FILE_CREATE, &w, true);
}

static void transfer_event(struct convert *c, const struct sample *s, const struct tapped *t, const struct file_op *o)
{
    const struct file_call_row *row = &convert_file_rows[o->row];
    struct writer               w   = op_writer(c);
    uint64_t size = row->flags & TAP_CALL_VECTOR ? t->head.size : (uint64_t)convert_file_argument(t, row->amount);
    wr_u64(&w, row->offset >= 0 ? (uint64_t)convert_file_argument(t, row->offset) : t->head.pos);
    ids_put(&w, o);
    wr_u32(&w, s->tid);
    wr_u32(&w, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size);
    wr_u32(&w, 0);
    wr_u32(&w, 0);
    op_event(c, s, row->kind == FILE_READ ? HOOK_FILE_READ : HOOK_FILE_WRITE, &w, true);
}

/* Cleanup, Close, Flush */
static void simple_event(struct convert *c, const struct sample *s, const struct file_op *o, uint16_t hook, bool stack)
{
    struct writer w = op_writer(c);
    ids_put(&w, o);
    wr_u32(&w, s->tid);
    op_event(c, s, hook, &w, stack);
}

static void folder_event(struct convert *c, const struct sample *s, const struct tapped *t, const struct file_op *o)
{
    struct writer w = op_writer(c);
    ids_put(&w, o);
    wr_u32(&w, s->tid);
    wr_u32(&w, (uint32_t)convert_file_argument(t, convert_file_rows[o->row].amount));
    wr_u32(&w, convert_file_rows[o->row].info);
    wr_u32(&w, 0);
    wr_path(&w, "");
    op_event(c, s, HOOK_FILE_DIR_ENUM, &w, true);
}

/* SetInfo, QueryInfo, FSControl, Delete, Rename; with `path` the path events of Delete, Rename and a link */
static void info_event(struct convert *c, const struct sample *s, const struct tapped *t, const struct file_op *o,
                       uint16_t hook, const char *path)
{
    const struct file_call_row *row = &convert_file_rows[o->row];
    uint64_t      extra             = row->kind == FILE_FSCONTROL ? 0 : (uint64_t)convert_file_argument(t, row->amount);
    struct writer w                 = op_writer(c);
    if (row->info == FileAllocationInformation)
        extra += (uint64_t)convert_file_argument(t, 2); /* fallocate: offset and length */
    ids_put(&w, o);
    wr_u64(&w, extra);
    wr_u32(&w, s->tid);
    wr_u32(&w, row->kind == FILE_FSCONTROL ? (uint32_t)convert_file_argument(t, row->amount) : row->info);
    if (path)
        wr_path(&w, path);
    op_event(c, s, hook, &w, !path);
}

static void op_events(struct convert *c, const struct sample *s, const struct tapped *t, const struct file_op *o,
                      const char *path, const char *path2)
{
    switch (convert_file_rows[o->row].kind) {
    case FILE_CREATE:
    case FILE_MAKE:
    case FILE_FOLDER: create_event(c, s, t, o, path); break;
    case FILE_CLEANUP: simple_event(c, s, o, HOOK_FILE_CLEANUP, true); break;
    case FILE_READ:
    case FILE_WRITE: transfer_event(c, s, t, o); break;
    case FILE_FLUSH: simple_event(c, s, o, HOOK_FILE_FLUSH, true); break;
    case FILE_DIRENUM: folder_event(c, s, t, o); break;
    case FILE_SETINFO: info_event(c, s, t, o, HOOK_FILE_SET_INFO, NULL); break;
    case FILE_QUERY: info_event(c, s, t, o, HOOK_FILE_QUERY_INFO, NULL); break;
    case FILE_FSCONTROL: info_event(c, s, t, o, HOOK_FILE_FS_CONTROL, NULL); break;
    case FILE_DELETE:
        info_event(c, s, t, o, HOOK_FILE_DELETE, NULL);
        info_event(c, s, t, o, HOOK_FILE_DELETE_PATH, path ? path : "");
        break;
    case FILE_RENAME:
        info_event(c, s, t, o, HOOK_FILE_RENAME, NULL);
        info_event(c, s, t, o, HOOK_FILE_RENAME_PATH, path2 ? path2 : "");
        break;
    case FILE_LINK:
        info_event(c, s, t, o, HOOK_FILE_SET_INFO, NULL);
        info_event(c, s, t, o, HOOK_FILE_SET_LINK_PATH, path2 ? path2 : "");
        break;
    default: break;
    }
}

/* ---- beginning and end ---- */

static uint64_t next_irp(struct convert *c) { return UINT64_C(0xffff800000000000) + (c->next_irp++ << 8); }

/* Finds the open file and the file of the operation. */
static void op_identify(struct convert *c, const struct sample *s, const struct tapped *t, struct file_op *o,
                        const char *path)
{
    struct part_file *p = c->file;
    if (t->head.flags & TAP_FILE) {
        const struct file_object *known = idmap_get(&p->object, t->head.file);
        o->file                         = t->head.file;
        o->key                          = file_key(t->head.dev, t->head.ino);
        o->object                       = known && known->key == o->key ? known->object : t->head.file;
        if (t->text[TAP_TEXT_NAME] &&
            names_join(t->text[TAP_TEXT_NAME], t->head.text_bytes[TAP_TEXT_NAME], p->path[0], PATH_BYTES))
            name_learn(c, s, o->key, p->path[0]);
    } else if (convert_file_rows[o->row].flags & TAP_CALL_OPENS) {
        o->object = UINT64_C(0xffffa00000000000) + (++p->next_object << 4);
    } else if (path && convert_file_rows[o->row].kind != FILE_MAKE && convert_file_rows[o->row].kind != FILE_FOLDER) {
        o->key = key_of_name(c, path);
        name_learn(c, s, o->key, path);
    }
}

static bool op_keep(struct part_file *p, const struct file_op *o, const char *text)
{
    size_t          bytes = text ? strlen(text) + 1 : 0;
    struct file_op *kept  = p->op.count < CALLS_MAX ? malloc(sizeof *kept + bytes) : NULL, *old;
    if (!kept)
        return false;
    *kept            = *o;
    kept->text_bytes = (uint16_t)bytes;
    if (bytes)
        memcpy(kept->text, text, bytes);
    old = idmap_remove(&p->op, o->tid); /* its end was lost */
    free(old);
    if (idmap_put(&p->op, o->tid, kept))
        return true;
    free(kept);
    return false;
}

static void op_begin(struct convert *c, const struct sample *s, const struct tapped *t, bool now)
{
    struct part_file *p = c->file;
    struct file_op o = {.tid = s->tid, .row = (uint8_t)(t->head.call - 1), .flags = t->head.flags, .irp = next_irp(c)};
    const char    *path = convert_file_path_of(p, t, TAP_TEXT_PATH, 0),
               *path2   = convert_file_path_of(p, t, TAP_TEXT_PATH2, 1);
    if (now) { /* a name that is not in memory yet arrives at the end, and so does then the whole operation */
        op_identify(c, s, t, &o, path);
        path = convert_file_path_of(p, t, TAP_TEXT_PATH, 0); /* the buffer may have been reused for a name meanwhile */
        if (c->mask[0] & FILE_INIT)
            op_events(c, s, t, &o, path, path2);
        o.flags &= (uint8_t)~TAP_NO_PATH;
    }
    op_keep(p, &o, convert_file_rows[o.row].kind == FILE_RENAME ? path2 : NULL);
}

void convert_file_enter(struct convert *c, const struct sample *s)
{
    UNSET struct tapped t;
    if (convert_file_part(c) && record_parse(s, &t))
        op_begin(c, s, &t, !(t.head.flags & TAP_NO_PATH));
}

static void convert_file_opened(struct convert *c, const struct sample *s, const struct tapped *t,
                                const struct file_op *o)
{
    struct part_file *p = c->file;
    if (!(t->head.flags & TAP_FILE))
        return; /* a terminal, a pipe by name ... */
    uint64_t            key = file_key(t->head.dev, t->head.ino);
    struct file_object *f   = idmap_get(&p->object, t->head.file);
    if (!f && p->object.count < CALLS_MAX && (f = malloc(sizeof *f)) && !idmap_put(&p->object, t->head.file, f)) {
        free(f);
        f = NULL;
    }
    if (f)
        *f = (struct file_object){o->object, key};
    if (t->text[TAP_TEXT_NAME] &&
        names_join(t->text[TAP_TEXT_NAME], t->head.text_bytes[TAP_TEXT_NAME], p->path[0], PATH_BYTES))
        name_learn(c, s, key, p->path[0]);
}

static void renamed(struct convert *c, const struct sample *s, const struct file_op *o)
{
    if (!o->text_bytes)
        return;
    uint64_t over = key_of_name(c, o->text);
    if (over != o->key)
        name_lose(c, s, over);
    name_learn(c, s, o->key, o->text);
}

uint64_t file_in_call(const struct convert *c, uint32_t tid)
{
    if (!c->file || !(c->mask[0] & FILE_END)) /* without the ends the end of a call is not known */
        return 0;
    const struct file_op *o = idmap_get(&c->file->op, tid);
    enum file_kind        k = o ? convert_file_rows[o->row].kind : FILE_QUERY;
    return k == FILE_READ || k == FILE_WRITE || k == FILE_FLUSH ? o->key : 0;
}

static void convert_file_end_event(struct convert *c, const struct sample *s, uint64_t irp, int64_t result, bool bytes,
                                   bool stack)
{
    struct writer w = op_writer(c);
    if (!(c->mask[0] & FILE_END))
        return;
    wr_u64(&w, irp);
    wr_u64(&w, bytes && result > 0 ? (uint64_t)result : 0);
    wr_u32(&w, ntstatus_of(result));
    op_event(c, s, HOOK_FILE_OPERATION_END, &w, stack);
}

static void op_end(struct convert *c, const struct sample *s, const struct tapped *t, struct file_op *o)
{
    int64_t        result = (int64_t)t->head.arg[0];
    enum file_kind kind   = convert_file_rows[o->row].kind;
    if (result >= 0 && (convert_file_rows[o->row].flags & TAP_CALL_OPENS))
        convert_file_opened(c, s, t, o);
    convert_file_end_event(c, s, o->irp, result, kind == FILE_READ || kind == FILE_WRITE || kind == FILE_DIRENUM, true);
    if (result < 0)
        return;
    if (kind == FILE_DELETE)
        name_lose(c, s, o->key);
    if (kind == FILE_RENAME)
        renamed(c, s, o);
    if (kind == FILE_CLEANUP && (o->flags & TAP_LAST)) { /* the last reference is gone */
        o->irp = next_irp(c);
        if (c->mask[0] & FILE_INIT)
            simple_event(c, s, o, HOOK_FILE_CLOSE, false);
        convert_file_end_event(c, s, o->irp, 0, false, false);
        free(idmap_remove(&c->file->object, o->file));
    }
}

void convert_file_exit(struct convert *c, const struct sample *s)
{
    UNSET struct tapped t;
    struct file_op     *o;
    if (!convert_file_part(c) || !record_parse(s, &t) || !(o = idmap_remove(&c->file->op, s->tid)))
        return;
    if (o->row == t.head.call - 1 && (o->flags & TAP_NO_PATH)) {
        free(o);
        struct tapped begin = t;
        begin.head.flags &= (uint8_t) ~(TAP_NO_PATH | TAP_FILE);
        op_begin(c, s, &begin, true);
        o = idmap_remove(&c->file->op, s->tid);
    }
    if (o && o->row == t.head.call - 1)
        op_end(c, s, &t, o);
    free(o);
}

/* ---- for a successor ---- */

void part_file_put(const struct convert *c, struct sink *s)
{
    const struct part_file *p = c->file;
    uint64_t head[4] = {p ? p->op.count : 0, p ? p->object.count : 0, p ? p->named.count : 0, p ? p->next_object : 0};
    snapshot_put(s, head, sizeof head);
    for (size_t i = 0; p && i < p->op.capacity; i++) {
        const struct file_op *o = p->op.slot[i].value;
        if (o)
            snapshot_put(s, o, sizeof *o + o->text_bytes);
    }
    for (size_t i = 0; p && i < p->object.capacity; i++)
        if (p->object.slot[i].value) {
            snapshot_put(s, &p->object.slot[i].key, 8);
            snapshot_put(s, p->object.slot[i].value, sizeof(struct file_object));
        }
    for (size_t i = 0; p && i < p->named.capacity; i++)
        if (p->named.slot[i].value)
            snapshot_put(s, (const uint64_t[]){p->named.slot[i].key, (uintptr_t)p->named.slot[i].value}, 16);
}

static bool get_ops(struct part_file *p, struct cursor *cur, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct file_op o;
        cur_copy(cur, &o, sizeof o);
        const char *text = cur_take(cur, o.text_bytes);
        if (!cur_ok(cur) || o.row >= ROWS || (o.text_bytes && text[o.text_bytes - 1]) ||
            !op_keep(p, &o, o.text_bytes ? text : NULL))
            return false;
    }
    return true;
}

static bool get_objects(struct part_file *p, struct cursor *cur, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t            key = cur_u64(cur);
        struct file_object *f   = malloc(sizeof *f);
        if (!f)
            return false;
        cur_copy(cur, f, sizeof *f);
        free(idmap_remove(&p->object, key));
        if (!cur_ok(cur) || !idmap_put(&p->object, key, f)) {
            free(f);
            return false;
        }
    }
    return true;
}

bool part_file_get(struct convert *c, struct cursor *cur)
{
    uint64_t head[4];
    cur_copy(cur, head, sizeof head);
    if (!cur_ok(cur) || head[0] > CALLS_MAX || head[1] > CALLS_MAX || head[2] > NAMES_MAX)
        return false;
    if (!head[0] && !head[1] && !head[2] && !head[3])
        return true;
    struct part_file *p = convert_file_part(c);
    if (!p || !get_ops(p, cur, head[0]) || !get_objects(p, cur, head[1]))
        return false;
    p->next_object = head[3];
    for (uint64_t i = 0; i < head[2]; i++) {
        uint64_t hash = cur_u64(cur), key = cur_u64(cur);
        if (!cur_ok(cur) || !key || !idmap_put(&p->named, hash, (void *)(uintptr_t)key))
            return false;
    }
    return cur_ok(cur);
}

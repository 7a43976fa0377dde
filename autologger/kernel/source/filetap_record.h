/* filetap_record.h - the record that filetap.bpf.c writes at the beginning and at the end of a file operation: the raw
 * bytes of a sample of the sources FILE_ENTER and FILE_EXIT. Read by filetap.c (maps) and convert_file.c (records, also
 * recorded ones).
 * Invariants: no includes (the BPF program has no libc); texts follow the head in the order of text_bytes.
 * Threads, ownership: types only. Not for: mapping system calls to operations (filecalls.def). */
#ifndef AUTOLOGGER_KERNEL_FILETAP_RECORD_H
#define AUTOLOGGER_KERNEL_FILETAP_RECORD_H
typedef unsigned char      tap_u8;
typedef unsigned short     tap_u16;
typedef unsigned int       tap_u32;
typedef unsigned long long tap_u64;

enum {
    TAP_CALLS      = 512,
    TAP_PATH       = 4096,
    TAP_TEXT       = 4 * TAP_PATH,
    TAP_OPEN_CALLS = 32768,
    TAP_NAMED      = 32768,
    TAP_STEPS      = 48,
    TAP_VECTORS    = 8,
    TAP_NARROW     = TAP_CALLS /* calls of programs of 32 bits follow those of 64 */
};
/* The positions of a call's arguments (0 to 5, -1 = it has no such argument), by call number in the table `calls` */
struct tap_call {
    tap_u8      call; /* 1 + its row in filecalls.def; 0: not recorded */
    signed char fd, path, dir, path2, dir2;
    tap_u8      flags;  /* TAP_CALL_* */
    tap_u8      halves; /* 32-bit calls: 1 + an argument that comes in two halves; 0x10 added: so does the next */
};
enum {
    TAP_CALL_OPENS  = 1, /* its result is a descriptor */
    TAP_CALL_CLOSES = 2,
    TAP_CALL_VECTOR = 4, /* argument 1 points to argument 2 pairs of address and length */
    TAP_CALL_HOW    = 8, /* argument 2 points to flags and mode (openat2) */
    TAP_CALL_END    = 16 /* its end is recorded */
};
struct tap_config {   /* the one value of the map `config` */
    tap_u32 own_tgid; /* the logger's process, whose calls are left out */
    tap_u32 reserved;
};
enum tap_flags {
    TAP_NO_PATH = 1, /* the (first) path could not be read: its page is not in memory */
    TAP_LAST    = 2, /* close: this was the last reference to the open file */
    TAP_CUT     = 4, /* a name is longer or deeper than the record allows */
    TAP_FILE    = 8  /* file, dev, ino, mode and pos are set */
};
enum { TAP_TEXT_PATH, TAP_TEXT_BASE, TAP_TEXT_PATH2, TAP_TEXT_BASE2, TAP_TEXT_NAME, TAP_TEXTS };
struct tap_record {
    tap_u64 arg[6];         /* at the end arg[0] is the result */
    tap_u64 file;           /* address of struct file, valid while it is open */
    tap_u64 ino, pos, size; /* size: bytes of all parts of a vector; openat2: flags */
    tap_u32 dev;            /* as in filekey.h */
    tap_u16 mode;           /* of the inode */
    tap_u8  call;           /* as in struct tap_call */
    tap_u8  flags;          /* enum tap_flags */
    /* Paths as the program gave them; the folder that a relative path begins at, and the name of the open file: names
     * from the leaf up, each ended by NUL. In bytes, 0 = absent */
    tap_u16 text_bytes[TAP_TEXTS];
    tap_u16 reserved[3];
    char    text[TAP_TEXT];
};
enum { TAP_HEAD = 104 };
_Static_assert(sizeof(struct tap_record) == TAP_HEAD + TAP_TEXT && sizeof(struct tap_call) == 8, "tap record");
#endif

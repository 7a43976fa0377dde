/* snapshot_format.h - the bytes of a sealed snapshot (see snapshot.h); what snapshot_pack.c writes and snapshot.c
 * reads. Little-endian, unaligned, texts NUL-terminated UTF-8:
 *   head    magic[8], version u32, size of the file u32, keys u32, values u32, change number u64, time u64,
 *           content[20], store path text, log folder text
 *   key     name text, last write u64, place, values u32, subkeys u32, the values, the subkeys (each a key)
 *   value   name text, type u32, place, size u32, the bytes
 *   place   u8: 0 none, 1 the file of the previous place, 2 the file's name follows; then the line u32
 *   end     SHA-1 of all bytes before it
 * The first key has no name; its subkeys are the root keys. */
#ifndef REGISTRY_SIM_STORE_SNAPSHOT_FORMAT_H
#define REGISTRY_SIM_STORE_SNAPSHOT_FORMAT_H

#define SNAPSHOT_MAGIC "ALSNAP\x1a\n"
#define SNAPSHOT_WMI "HKEY_LOCAL_MACHINE\\SYSTEM\\ControlSet001\\Control\\WMI"
enum {
    SNAPSHOT_VERSION     = 1,
    SNAPSHOT_AT_SIZE     = 12, /* offset of the head's size, keys and values, which are filled in last */
    SNAPSHOT_KEY_LEAST   = 22, /* bytes of the smallest key, */
    SNAPSHOT_VALUE_LEAST = 14, /* and value */
};
enum snapshot_place { PLACE_NONE, PLACE_SAME, PLACE_NEW };
#endif
